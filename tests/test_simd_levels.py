"""Every level of instructions that this processor has gives the numbers of the oracle."""

from __future__ import annotations

import os
import subprocess
import sys

import geometry_twin as twin
import nasty
import numpy as np
import pytest
import reference
import shapes
import shopca_rs
from shopca_rs import _core
from test_quality import plain_curves, plain_trustworthiness

LEVELS = _core.simd_levels()
# Tall; wide by A itself; wide by third moments; scattered; one at a time.
SIZES = [(90, 3, 8), (90, 12, 9), (80, 20, 4), (120, 70, 7), (60, 45, 42)]


@pytest.fixture(params=LEVELS)
def simd_level(request):
    """Force a level of instructions while a test runs."""
    _core.force_simd_level(request.param)
    yield request.param
    _core.force_simd_level(None)


def clouds(n, d):
    """A cloud in general position, and one with ties and repeated eigenvalues."""
    return nasty.continuous(n, d, seed=d), nasty.levels(n, d, seed=d)


def test_a_forced_level_is_the_one_in_use(simd_level):
    assert _core.simd_level() == simd_level


@pytest.mark.parametrize(("n", "d", "k"), SIZES)
def test_neighbours_and_their_distances_are_the_same_to_the_bit(simd_level, n, d, k):
    for X in clouds(n, d):
        indices, distances = shopca_rs.k_neighbors(X, k, algorithm="brute")
        assert np.array_equal(indices, reference.neighbors(X, k))
        apart = np.linalg.norm(X[indices] - X[:, None], axis=2)
        np.testing.assert_allclose(distances, apart, rtol=1e-14)


def test_a_sheet_that_boxes_tell_apart_has_the_neighbours_of_brute_force(simd_level):
    X = nasty.sheet(9000, 8)
    indices, distances = shopca_rs.k_neighbors(X, 17)
    expected, apart = shopca_rs.k_neighbors(X, 17, algorithm="brute")
    assert np.array_equal(indices, expected)
    assert distances.tobytes() == apart.tobytes()


@pytest.mark.parametrize(("n", "d", "k"), SIZES)
def test_the_mean_shape_operator_is_the_oracle_s(simd_level, n, d, k):
    for X in clouds(n, d):
        expected = reference.algorithm_1(X, k, operator=reference.averaged_operator)
        assert reference.relative_error(shopca_rs.mean_shape_operator(X, k), expected) < 1e-11


@pytest.mark.parametrize("stages", [1, 2])
def test_second_forms_are_the_twin_s(simd_level, stages):
    shape = shapes.torus(300, np.random.default_rng(0))
    k, second = 4 * twin.unknowns(2, 3), 2 * twin.unknowns(2, 3)
    if stages == 1:
        expected = twin.second_form(shape.points, twin.neighbors(shape.points, k), 2, order=3)
    else:
        expected = twin.two_stage(shape.points, 2, k, second)
    bent = shopca_rs.second_fundamental_form(shape.points, k, intrinsic_dim=2, stages=stages, order=3)
    ours, theirs = (
        shapes.ambient(bent.tangent, bent.form),
        shapes.ambient(expected["tangent"], expected["form"]),
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize("make", [nasty.continuous, nasty.levels], ids=["continuous", "levels"])
def test_quality_is_that_of_full_matrices_of_ranks(simd_level, make):
    X = make(97, 7)
    Z = X[:, :2] + 0.1 * np.sin(3 * X[:, 2:4])
    found = shopca_rs.quality(X, Z, n_neighbors=6)
    q_nx, _, auc = plain_curves(X, Z)
    np.testing.assert_allclose(found.q_nx, q_nx, atol=1e-12)
    assert found.auc == pytest.approx(auc, abs=1e-12)
    assert found.trustworthiness == pytest.approx(plain_trustworthiness(X, Z, 6), abs=1e-12)
    assert shopca_rs.trustworthiness(X, Z, n_neighbors=6) == found.trustworthiness


def under(level, code):
    """Run code in a fresh interpreter with SHOPCA_SIMD set."""
    environment = os.environ | {"SHOPCA_SIMD": level}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("level", LEVELS)
def test_the_environment_names_the_level(level):
    done = under(level, "from shopca_rs import _core; print(_core.simd_level())")
    assert (done.stdout.strip(), done.stderr) == (level, "")


def test_an_empty_variable_is_as_good_as_none():
    done = under("", "from shopca_rs import _core; print(_core.simd_level())")
    assert done.stdout.strip() == LEVELS[-1]


REFUSED = """
import numpy as np, shopca_rs
X = np.random.default_rng(0).normal(size=(30, 3))
for call in (lambda: shopca_rs.mean_shape_operator(X, 5), lambda: shopca_rs.k_neighbors(X, 5),
             lambda: shopca_rs.quality(X, X[:, :2], n_neighbors=5)):
    try:
        call()
    except ValueError as error:
        print(error)
"""


def test_a_level_that_is_unknown_is_refused_at_the_first_use_by_a_sentence():
    done = under("sse9", REFUSED)
    has = ", ".join(LEVELS)
    expected = (
        f'SHOPCA_SIMD must name instructions that this processor has ({has}), got "sse9". '
        "Unset it to use the best of them."
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [expected] * 3


def test_only_levels_of_this_processor_can_be_forced():
    with pytest.raises(ValueError, match="SHOPCA_SIMD must name instructions"):
        _core.force_simd_level("neon")
    assert _core.simd_level() == LEVELS[-1]
