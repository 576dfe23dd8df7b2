"""`include_self=True`: the point joins its own neighbourhood, in every function and on every route."""

from __future__ import annotations

import json

import dask
import dask.array as da
import nasty
import numpy as np
import pandas as pd
import pytest
import reference
from shopca_rs import (
    SHOPCA,
    ShapeOperatorEigenmaps,
    k_neighbors,
    local_shape_operators,
    mean_shape_operator,
    operator_curvatures,
    shape_sum,
)
from shopca_rs import dask as on_dask
from shopca_rs.cli import main

# Number of points, columns and neighbours: each takes another route through the mathematics.
ROUTES = {
    "one column": (50, 1, 4),
    "eight at once, more points than columns": (120, 4, 9),
    "as many points as columns": (120, 10, 9),
    "one more column than points": (120, 11, 9),
    "eight at once, fewer points than columns": (60, 30, 5),
    "scattered": (200, 40, 9),
    "one at a time, many neighbours": (90, 60, 45),
    "the largest eight at once": (90, 50, 39),
    "the smallest one at a time": (90, 50, 40),
    "two neighbours": (40, 3, 2),
    "all rows": (21, 5, 20),
    "all of three rows": (3, 2, 2),
}
every_route = pytest.mark.parametrize("route", ROUTES)


def data(route):
    n, d, k = ROUTES[route]
    return nasty.continuous(n, d, seed=n + d), k


def expected_operators(X, k, operator=reference.averaged_operator):
    return np.array([operator(X[patch]) for patch in reference.patches(X, k, include_self=True)])


@every_route
def test_the_operators_are_those_of_k_plus_one_points(route):
    X, k = data(route)
    operators = expected_operators(X, k)
    points = [len(X) - 1, 0, 1, 0]
    ours = local_shape_operators(X, k, include_self=True)
    for got, expected in [
        (mean_shape_operator(X, k, include_self=True), operators.mean(axis=0)),
        (shape_sum(X, k, include_self=True), operators.sum(axis=0)),
        (shape_sum(X, k, points=points, include_self=True), operators[points].sum(axis=0)),
        (ours, operators),
        (local_shape_operators(X, k, points=points, include_self=True), operators[points]),
        (
            operator_curvatures(X, k, include_self=True).mean,
            np.trace(operators, axis1=1, axis2=2) / X.shape[1],
        ),
    ]:
        assert reference.relative_error(got, expected) < 1e-11
    principal = np.sort(np.linalg.eigvals(operators).real, axis=1)
    got = operator_curvatures(X, k, include_self=True).principal
    np.testing.assert_allclose(got, principal, atol=1e-9 * np.abs(principal).max())


def test_the_solver_s_own_basis_takes_the_point_as_well():
    X = nasty.continuous(80, 4)
    expected = expected_operators(X, 9, reference.shape_operator).mean(axis=0)
    ours = mean_shape_operator(X, 9, include_self=True, degenerate="lapack")
    assert reference.relative_error(ours, expected) < 1e-12


@pytest.mark.parametrize("name", [name for name in nasty.ALL if name not in ("outlier", "two_far_clusters")])
def test_nasty_data_have_the_operators_of_k_plus_one_points(name):
    X = nasty.ALL[name]()
    for k in nasty.neighbor_counts(X)[:4]:
        expected = expected_operators(X, k).mean(axis=0)
        assert reference.relative_error(mean_shape_operator(X, k, include_self=True), expected) < 1e-9, k


def test_a_sample_is_the_mean_over_its_points():
    X = nasty.continuous(150, 5)
    rows = np.random.RandomState(3).permutation(150)[:70]
    expected = expected_operators(X, 6)[rows]
    mean, error = mean_shape_operator(X, 6, include_self=True, sample=70, random_state=3, return_error=True)
    assert reference.relative_error(mean, expected.mean(axis=0)) < 1e-12
    groups = np.array_split(expected, [g * 70 // 32 for g in range(1, 32)])
    squares = sum(len(g) * (g.mean(axis=0) - expected.mean(axis=0)) ** 2 for g in groups)
    assert reference.relative_error(error, np.sqrt((1 - 70 / 150) / (70 * 31) * squares)) < 1e-9


@every_route
def test_the_bits_do_not_depend_on_threads_algorithm_or_how_the_neighbours_came(route):
    X, k = data(route)
    given, _ = k_neighbors(X, k)

    def bits(**options):
        return [
            mean_shape_operator(X, k, include_self=True, **options).tobytes(),
            local_shape_operators(X, k, include_self=True, **options).tobytes(),
            mean_shape_operator(X, k, include_self=True, sample=2 + len(X) // 3, **options).tobytes(),
        ]

    expected = bits(n_jobs=1)
    assert bits(n_jobs=3) == expected
    assert bits(algorithm="brute") == expected
    assert bits(neighbors=given) == expected
    if X.shape[1] <= 32:
        assert bits(algorithm="kd_tree", n_jobs=2) == expected


def test_a_given_list_that_holds_the_row_itself_is_refused_only_if_the_row_is_to_join_it():
    X = nasty.continuous(20, 3)
    given, _ = k_neighbors(X, 4)
    given[7, 2] = 7
    mean_shape_operator(X, 4, neighbors=given)
    for function in (mean_shape_operator, local_shape_operators, operator_curvatures):
        with pytest.raises(ValueError, match=r"itself with include_self=True.*row 7 in its own list\. Leave"):
            function(X, 4, neighbors=given, include_self=True)
    local_shape_operators(X, 4, points=[6, 8], neighbors=given, include_self=True)


def test_more_neighbours_than_other_points_are_still_too_many():
    X = nasty.continuous(10, 3)
    mean_shape_operator(X, 9, include_self=True)
    with pytest.raises(ValueError, match="k must be at most n − 1 = 9"):
        mean_shape_operator(X, 10, include_self=True)


@pytest.mark.parametrize("make", [SHOPCA, ShapeOperatorEigenmaps], ids=lambda make: make.__name__)
def test_an_estimator_takes_the_operator_of_k_plus_one_points_and_says_so(make):
    X = nasty.continuous(100, 5)
    fitted = make(include_self=True).fit(X)
    expected = mean_shape_operator(X, fitted.n_neighbors_, include_self=True)
    np.testing.assert_array_equal(fitted.mean_shape_operator_, expected)
    assert 'k = 7 (rule "log2"), and the point itself\n' in fitted.summary()
    assert "itself" not in make().fit(X).summary()


def test_the_operator_grows_with_the_distance_of_an_outlier_only_if_the_outlier_is_in_its_patch():
    X = nasty.continuous(100, 4)
    X[17] = 0

    def trace(distance, **options):
        X[17, 0] = distance
        return np.trace(mean_shape_operator(X, 7, **options))

    assert trace(2000.0) == pytest.approx(trace(1000.0), rel=1e-3)
    # Its own patch has a variance of (k + 1)⁻¹ distance², which is nearly all there is.
    assert trace(2000.0, include_self=True) == pytest.approx(4 * trace(1000.0, include_self=True), rel=0.02)
    assert trace(2000.0, include_self=True) == pytest.approx(-(2000.0**2) / 8 / 100, rel=0.02)


def test_the_command_embeds_and_measures_with_the_row_itself(tmp_path):
    X = nasty.continuous(60, 3)
    table = tmp_path / "table.csv"
    pd.DataFrame(X, columns=list("abc")).to_csv(table, index=False)
    common = [str(table), "--no-standardize", "--quiet", "--neighbors", "6", "--include-self"]
    model = tmp_path / "model.json"
    main(["embed", *common, "-o", str(tmp_path / "out.csv"), "--model", str(model)])
    fitted = SHOPCA(n_neighbors=6, include_self=True).fit(X)
    np.testing.assert_allclose(json.loads(model.read_text())["weights"], fitted.components_, rtol=1e-9)
    main(["curvature", *common, "--operator", "paper", "-o", str(tmp_path / "bent.csv")])
    expected = operator_curvatures(X, 6, include_self=True).mean
    np.testing.assert_allclose(pd.read_csv(tmp_path / "bent.csv")["mean"], expected, rtol=1e-9)


@pytest.mark.parametrize("command", [["embed", "--method", "lpp"], ["curvature"]], ids=lambda words: words[0])
def test_the_command_refuses_the_option_where_it_means_nothing(command, tmp_path, capsys):
    table = tmp_path / "table.csv"
    pd.DataFrame(nasty.continuous(60, 3), columns=list("abc")).to_csv(table, index=False)
    assert main([command[0], str(table), *command[1:], "--include-self"]) != 0
    assert "--include-self must come with" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["replicated", "sharded"])
@pytest.mark.parametrize("sample", [None, 50], ids=["all rows", "a sample"])
@pytest.mark.parametrize(
    "make", [nasty.continuous, nasty.levels, nasty.two_copies], ids=lambda make: make.__name__
)
def test_dask_has_the_numbers_of_the_data_in_memory(make, sample, mode):
    X = make(90, 4)
    lazy = da.from_array(X, chunks=((1, 40, 3, 46), 4))
    options = {"include_self": True, "sample": sample, "return_error": True}
    with dask.config.set(scheduler="threads", num_workers=2):
        ours = dask.compute(*on_dask.mean_shape_operator(lazy, 6, mode=mode, **options))
        fitted = on_dask.SHOPCA(include_self=True, sample=sample, mode=mode).fit(lazy)
    for got, expected in zip(ours, mean_shape_operator(X, 6, **options), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * np.abs(X).max() ** 2)
    plain = SHOPCA(include_self=True, sample=sample).fit(X)
    assert reference.relative_error(fitted.mean_shape_operator_, plain.mean_shape_operator_) < 1e-12
    assert fitted.to_plain().include_self
