"""Stability of components under resampling, against plain loops and closed forms."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.special
from refusals import cases, refuses
from shopca_rs import LPP, SHOPCA, ShapeOperatorEigenmaps, stability
from shopca_rs.evaluation.subspaces import agreement, principal_angles, random_angle
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

WINE = load_wine(as_frame=True).data
SCALED = StandardScaler().fit_transform(WINE)
IRIS = load_iris().data


def planted(n=1500, d=10, seed=0):
    """Points with most of their variance, in three clusters, in a random plane."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.normal(size=(d, 2)))[0]
    corners = np.array([[0.0, 12.0], [-9.0, -6.0], [12.0, -6.0]])
    return (corners[rng.integers(3, size=n)] + rng.normal(size=(n, 2))) @ plane.T + rng.normal(size=(n, d))


def noise(n=400, d=10, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def plain_pca(X, m):
    """PCA's components with the largest entry of each positive."""
    rows = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:m]
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return rows * np.sign(largest)


def plain_angles(A, B):
    cosines = np.linalg.svd(np.linalg.qr(A.T)[0].T @ np.linalg.qr(B.T)[0], compute_uv=False)
    return np.sort(np.degrees(np.arccos(np.minimum(cosines, 1))))


def test_on_pca_the_result_is_that_of_a_plain_loop():
    X, m = SCALED, 2
    result = stability(PCA(m), X, n_resamples=6, random_state=3)
    draw, n = np.random.RandomState(3), len(X)
    full, refits = plain_pca(X, m), []
    for _ in range(3):
        rows = draw.permutation(n)
        refits += [plain_pca(X[rows[: n // 2]], m), plain_pca(X[rows[n // 2 :]], m)]
    aligned = [refit * np.sign((refit * full).sum(axis=1))[:, None] for refit in refits]
    np.testing.assert_allclose(result.reference, full, atol=1e-10)
    np.testing.assert_allclose(result.angles, [plain_angles(refit, full) for refit in refits], atol=1e-10)
    between = [plain_angles(*refits[i : i + 2]) for i in (0, 2, 4)]
    np.testing.assert_allclose(result.disjoint_angles, between, atol=1e-10)
    np.testing.assert_allclose(result.loadings, aligned, atol=1e-10)
    np.testing.assert_allclose(result.loadings_mean, np.mean(aligned, axis=0), atol=1e-10)
    np.testing.assert_allclose(result.loadings_std, np.std(aligned, axis=0, ddof=1), atol=1e-10)
    assert result.median_angle == np.median(result.angles[:, -1])
    assert (result.n_samples, result.n_drawn) == (178, 89)
    assert result.alpha is None


def test_with_bootstrap_rows_are_drawn_with_replacement():
    result = stability(PCA(1), IRIS, n_resamples=3, fraction=1, bootstrap=True, random_state=5)
    draw, full = np.random.RandomState(5), plain_pca(IRIS, 1)
    expected = [plain_angles(plain_pca(IRIS[draw.randint(0, 150, 150)], 1), full) for _ in range(3)]
    np.testing.assert_allclose(result.angles, expected, atol=1e-5)
    assert result.disjoint_angles is None
    assert "drawn with replacement" in result.summary()


@pytest.mark.parametrize(("n", "fraction", "pairs"), [(101, 0.5, 2), (100, 0.3, 2), (100, 0.51, None)])
def test_parts_of_at_most_one_half_come_in_pairs_without_a_common_row(n, fraction, pairs):
    rows_seen = []

    class Recording(PCA):
        def fit(self, X, y=None):
            rows_seen.append(set(X[:, 0]))
            return super().fit(X)

    X = np.c_[np.arange(n), noise(n, 3)]
    result = stability(Recording(1), X, n_resamples=5, fraction=fraction)
    parts = rows_seen[1:]
    assert {len(part) for part in parts} == {int(fraction * n)} == {result.n_drawn}
    assert (result.disjoint_angles is None) == (pairs is None)
    if pairs is not None:
        assert len(result.disjoint_angles) == pairs
        assert parts[0].isdisjoint(parts[1])
        assert parts[2].isdisjoint(parts[3])
    assert parts[0] != parts[2]


@pytest.mark.parametrize("estimator", [PCA(2), SHOPCA(2), LPP(2)], ids=lambda e: type(e).__name__)
def test_a_planted_plane_is_stable_and_noise_is_like_random_planes(estimator):
    found = stability(estimator, planted())
    assert found.median_angle < 5
    assert found.verdict == "stable"
    assert found.agreement > 0.97
    nothing = stability(estimator, noise())
    assert np.median(nothing.disjoint_angles[:, -1]) == pytest.approx(nothing.random_angle, abs=8)
    assert nothing.agreement == pytest.approx(0, abs=0.25)
    assert nothing.verdict == "no better than chance"


def test_one_stable_direction_of_two_is_partly_stable():
    X = noise()
    X[:, 3] *= 6
    result = stability(PCA(2), X)
    assert np.median(result.angles[:, 0]) < 5
    assert result.verdict == "partly stable"
    assert "partly stable: 1 of 2 directions within 15°" in result.summary()


def test_as_many_components_as_features_span_the_whole_space():
    result = stability(PCA(4), IRIS, n_resamples=2)
    assert result.angles.max() < 1e-5
    assert (result.random_angle, result.agreement, result.verdict) == (0, 1, "whole space")
    assert "random subspaces" not in result.summary()


@pytest.mark.parametrize("estimator", [PCA(2), LPP(2)], ids=lambda e: type(e).__name__)
def test_pca_and_lpp_do_not_see_the_sign_of_a_column(estimator):
    result = stability(estimator, SCALED, n_resamples=2, sign_flip=True)
    assert result.sign_flip.shape == (13,)
    assert result.sign_flip.max() < 1e-8


def test_shopca_sees_the_sign_of_a_column_and_gives_the_angle_after_it_is_turned_back():
    result = stability(SHOPCA(2), SCALED, n_resamples=2, sign_flip=True)
    assert result.sign_flip.min() > 0.1
    turned = SCALED * np.where(np.arange(13) == 4, -1, 1)
    components = SHOPCA(2).fit(turned).components_ * np.where(np.arange(13) == 4, -1, 1)
    expected = plain_angles(components, SHOPCA(2).fit(SCALED).components_)[-1]
    assert result.sign_flip[4] == pytest.approx(expected, abs=1e-9)
    assert "sign flips" in result.summary()


def test_alpha_is_that_of_each_refit():
    result = stability(SHOPCA(2), SCALED, n_resamples=4, random_state=1)
    rows = np.random.RandomState(1).permutation(178)
    halves = [np.sort(rows[:89]), np.sort(rows[89:])]
    assert result.alpha[:2].tolist() == [SHOPCA(2).fit(SCALED[half]).alpha_ for half in halves]
    assert result.reference_alpha == SHOPCA(2).fit(SCALED).alpha_
    assert result.alpha.shape == (4,)
    assert "alpha" in result.summary()


def test_an_infinite_alpha_that_never_changes_is_not_told():
    result = stability(ShapeOperatorEigenmaps(2), SCALED, n_resamples=2)
    assert np.isinf(result.alpha).all()
    assert "alpha" not in result.summary()


def test_a_pipeline_is_refitted_from_its_first_step():
    model = make_pipeline(StandardScaler(), PCA(2))
    result = stability(model, WINE, n_resamples=2, random_state=2)
    rows = np.random.RandomState(2).permutation(178)
    X = WINE.to_numpy()
    part = X[rows[:89]]
    scaled = (part - part.mean(axis=0)) / part.std(axis=0)
    expected = plain_angles(plain_pca(scaled, 2), plain_pca(SCALED, 2))
    np.testing.assert_allclose(result.angles[0], expected, atol=1e-10)
    assert result.reference.features == list(WINE.columns)
    assert result.estimator[-1].components_.shape == (2, 13)


def test_in_a_pipeline_the_sign_of_what_the_last_step_is_given_is_flipped():
    piped = stability(make_pipeline(MinMaxScaler(), SHOPCA(2)), WINE, n_resamples=2, sign_flip=True)
    alone = stability(SHOPCA(2), MinMaxScaler().fit_transform(WINE), n_resamples=2, sign_flip=True)
    np.testing.assert_array_equal(piped.sign_flip, alone.sign_flip)


def test_a_step_with_axes_of_its_own_before_the_last_is_refused():
    model = make_pipeline(StandardScaler(), PCA(5), SHOPCA(2))
    refuses(
        ValueError,
        ["must not have a PCA before its last step", "Apply it to X first"],
        stability,
        model,
        WINE,
    )


def test_a_step_that_selects_other_features_in_a_refit_is_refused():
    X = noise(40, 5)
    X[:, 1] = 0
    X[0, 1] = 1
    refuses(
        ValueError,
        ["same features in every refit"],
        stability,
        make_pipeline(VarianceThreshold(), PCA(2)),
        X,
    )
    table = pd.DataFrame({"a": ["rare"] + ["x", "y", "z"] * 13})
    model = make_pipeline(OneHotEncoder(sparse_output=False), PCA(1))
    refuses(ValueError, ["same features in every refit"], stability, model, table)


@pytest.mark.parametrize(
    "estimator", [SHOPCA(2), ShapeOperatorEigenmaps(2), LPP(2), make_pipeline(StandardScaler(), SHOPCA(2))]
)
def test_the_number_of_threads_does_not_change_a_bit(estimator):
    results = [stability(estimator, SCALED, n_resamples=4, n_jobs=n_jobs) for n_jobs in (1, 2, None)]
    assert len({result.angles.tobytes() + result.loadings.tobytes() for result in results}) == 1


def test_threads_are_handed_to_every_step_that_has_them():
    model = make_pipeline(StandardScaler(), SHOPCA(2))
    assert stability(model, SCALED, n_resamples=2, n_jobs=1).estimator[-1].n_jobs == 1
    assert stability(SHOPCA(2, n_jobs=2), SCALED, n_resamples=2).estimator.n_jobs == 2


def test_the_estimator_given_stays_as_it_was():
    fitted = SHOPCA(0.5).fit(IRIS)
    before = copy.deepcopy(vars(fitted))
    stability(fitted, SCALED, n_resamples=2, n_jobs=1)
    assert vars(fitted).keys() == before.keys()
    assert fitted.n_components == 0.5
    assert np.array_equal(fitted.components_, before["components_"])


def test_a_seed_gives_the_same_result_and_another_one_another():
    first, same, other = (
        stability(PCA(2), SCALED, n_resamples=3, random_state=seed).angles for seed in (7, 7, 8)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("wanted", [0.8, None, "mle"])
def test_a_number_of_components_that_depends_on_the_data_is_taken_from_all_rows(wanted):
    m = PCA(wanted).fit(SCALED).n_components_
    assert stability(PCA(wanted), SCALED, n_resamples=3).angles.shape == (3, m)


@pytest.mark.parametrize("make", [pd.DataFrame, lambda X: X.tolist(), lambda X: X.astype(np.float32)])
def test_any_form_of_the_data_that_the_estimator_takes_will_do(make):
    expected = stability(PCA(2), SCALED, n_resamples=2).angles
    np.testing.assert_allclose(stability(PCA(2), make(SCALED), n_resamples=2).angles, expected, atol=1e-3)


def test_sparse_data_will_do_for_an_estimator_that_takes_them():
    sparse = scipy.sparse.csr_array(np.abs(SCALED))
    result = stability(
        TruncatedSVD(2, algorithm="arpack", random_state=0), sparse, n_resamples=2, sign_flip=True
    )
    assert result.sign_flip.shape == (13,)
    assert result.sign_flip.max() < 1e-6


def test_progress_counts_the_fits():
    told = []
    stability(PCA(2), IRIS, n_resamples=3, sign_flip=True, progress=lambda *done: told.append(done))
    assert told == [(i, 8) for i in range(1, 9)]


def test_the_summary_gives_each_loading_with_its_spread():
    result = stability(make_pipeline(StandardScaler(), LPP(2)), WINE, n_resamples=4)
    line = result.summary().splitlines()[-1]
    name, value = result.reference.top(1, 1)[0]
    j = list(WINE.columns).index(name)
    assert line.startswith(f"  component 2      {name} {value:+.3g} ± {result.loadings_std[1, j]:.2g}, ")
    assert repr(result).startswith("Stability(LPP, 4 refits, m = 2, d = 13, median angle = ")


WRONG = {
    "one refit": ({"n_resamples": 1}, ValueError, ["n_resamples must be at least 2"]),
    "too many refits": ({"n_resamples": 10_001}, ValueError, ["n_resamples must be at most 10000"]),
    "no rows": ({"fraction": 0}, ValueError, ["fraction must be above 0", "got 0 (int)"]),
    "too few rows": ({"fraction": 0.01}, ValueError, ["at least 3 rows", "0.01 of 150"]),
    "all rows": ({"fraction": 1.0}, ValueError, ["fraction must be below 1", "Use 0.5"]),
    "a word": ({"fraction": "half"}, TypeError, ["fraction must be a number", "'half'"]),
    "a number as a flag": ({"bootstrap": 1}, TypeError, ["bootstrap must be True or False"]),
    "no threads": ({"n_jobs": 0}, ValueError, ["n_jobs must not be 0"]),
    "a class": ({"estimator": PCA}, TypeError, ["with components_, such as SHOPCA"]),
    "no components": ({"estimator": StandardScaler()}, TypeError, ["StandardScaler, which has none"]),
    "k of a half": (
        {"estimator": LPP(n_neighbors=100)},
        ValueError,
        ["A refit to 75 of 150 rows failed: n_neighbors must be at most", "A larger fraction may help"],
    ),
}


@cases(WRONG)
def test_what_cannot_be_done_is_refused_in_a_sentence(value, exception, parts):
    refuses(exception, parts, stability, **({"estimator": PCA(2), "X": IRIS} | value))


def test_angles_between_spaces_are_those_of_their_construction():
    angles = np.radians([10.0, 35.0, 80.0])
    first = np.eye(6)[:3]
    second = np.cos(angles)[:, None] * np.eye(6)[:3] + np.sin(angles)[:, None] * np.eye(6)[3:]
    mixed = np.random.default_rng(0).normal(size=(3, 3)) @ second
    np.testing.assert_allclose(principal_angles(first, mixed), [10, 35, 80], atol=1e-9)
    lengths = np.array([[1e-200], [1.0], [1e200]])
    np.testing.assert_allclose(principal_angles(first * lengths, second), [10, 35, 80], atol=1e-9)


def test_a_direction_that_only_one_space_has_counts_as_a_right_angle():
    E = np.eye(4)
    assert principal_angles(E[[0, 0]], E[:2]).tolist() == [0, 90]
    assert principal_angles(E[[0, 0]], E[[0, 0]]).tolist() == [0, 0]
    assert principal_angles(np.zeros((2, 4)), E[:2]).tolist() == [90, 90]


@pytest.mark.parametrize("d", [2, 3, 10, 200])
def test_the_angle_between_random_lines_has_its_closed_form(d):
    # cos² is Beta(1/2, (d − 1)/2); complements of lines have the same angle.
    expected = np.degrees(np.arccos(np.sqrt(scipy.special.betaincinv(0.5, (d - 1) / 2, 0.5))))
    assert random_angle(1, d) == pytest.approx(expected, abs=1.5)
    assert random_angle(d - 1, d) == random_angle(1, d)


@pytest.mark.parametrize(("m", "d"), [(2, 5), (3, 20), (4, 6)])
def test_random_spaces_have_the_drawn_angle_and_no_agreement(m, d):
    rng = np.random.default_rng(0)
    pairs = [rng.normal(size=(2, m, d)) for _ in range(1000)]
    drawn = np.array([np.sort(np.degrees(scipy.linalg.subspace_angles(A.T, B.T))) for A, B in pairs])
    assert random_angle(m, d) == pytest.approx(np.median(drawn[:, -1]), abs=1.5)
    assert agreement(drawn, d).mean() == pytest.approx(0, abs=0.05)
