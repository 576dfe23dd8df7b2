import hashlib

import numpy as np
import pytest
from shopca_rs import k_neighbors, local_shape_operators, mean_shape_operator, operator_curvatures

# Many blocks of points; k ≤ d and k > d take different routes through the mathematics.
SIZES = {
    "two_columns": (5000, 2, 9),
    "few_columns": (3000, 6, 12),
    "k_is_d": (3000, 12, 12),
    "k_above_d": (1200, 20, 26),
    "k_below_d": (3000, 40, 10),
    "many_columns": (3000, 150, 7),
    "many_neighbours": (150, 60, 75),
}
JOBS = (1, 2, 3, 8)

every_size = pytest.mark.parametrize("size", SIZES)


def data(size):
    n, d, k = SIZES[size]
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    # A tenth of the points has twins, so that ties and rank-deficient frames take part.
    X[: n // 10] = X[n // 10 : 2 * (n // 10)]
    return X, k


def all_results(size, **options):
    """The bytes of everything the package computes from one data set."""
    X, k = data(size)
    search = {key: value for key, value in options.items() if key != "degenerate"}
    arrays = [
        mean_shape_operator(X, k, **options),
        local_shape_operators(X, k, points=np.arange(0, len(X), 11), **options),
        *k_neighbors(X, k, **search),
        *k_neighbors(X, k, queries=X[::7] + 0.25, **search),
    ]
    if len(X) * X.shape[1] <= 40_000:
        arrays += operator_curvatures(X, k, **options)
    return [array.tobytes() for array in arrays]


def digest(size, **options):
    return hashlib.sha256(b"".join(all_results(size, **options))).hexdigest()


@every_size
def test_the_bits_do_not_depend_on_the_number_of_threads(size):
    expected = all_results(size, n_jobs=1)
    for n_jobs in (*JOBS[1:], None, -1):
        assert all_results(size, n_jobs=n_jobs) == expected, f"n_jobs = {n_jobs}"


@every_size
def test_the_bits_do_not_depend_on_the_run(size):
    assert all_results(size, n_jobs=2) == all_results(size, n_jobs=2)


@pytest.mark.parametrize("size", [size for size, (_, d, _) in SIZES.items() if d <= 32])
def test_the_bits_do_not_depend_on_the_algorithm(size):
    expected = all_results(size, algorithm="auto")
    assert all_results(size, algorithm="brute", n_jobs=1) == expected
    assert all_results(size, algorithm="kd_tree", n_jobs=3) == expected


@pytest.mark.parametrize("size", ["k_above_d", "k_below_d"])
def test_the_solvers_own_basis_is_as_deterministic(size):
    X, k = data(size)
    X, points = X[:900], np.arange(0, 900, 11)
    expected, *others = (
        [
            mean_shape_operator(X, k, degenerate="lapack", n_jobs=n_jobs).tobytes(),
            local_shape_operators(X, k, points=points, degenerate="lapack", n_jobs=n_jobs).tobytes(),
        ]
        for n_jobs in JOBS
    )
    assert all(other == expected for other in others)


@pytest.mark.parametrize("size", ["few_columns", "k_above_d", "k_below_d"])
def test_a_fresh_process_finds_the_same_bits(size, run_python):
    code = "import sys, test_determinism as t; print(t.digest(sys.argv[1], n_jobs=int(sys.argv[2])))"
    assert {run_python(code, size, n_jobs).strip() for n_jobs in (1, 3)} == {digest(size)}


def test_the_bits_do_not_depend_on_how_the_neighbours_came():
    X, k = data("k_below_d")
    given, _ = k_neighbors(X, k)
    assert mean_shape_operator(X, k, neighbors=given).tobytes() == mean_shape_operator(X, k).tobytes()


def test_a_local_operator_does_not_depend_on_its_company():
    X, k = data("few_columns")
    together = local_shape_operators(X, k)
    alone = [local_shape_operators(X, k, points=[row])[0] for row in (0, 700, 2999)]
    assert np.array_equal(alone, together[[0, 700, 2999]])
