import nasty
import numpy as np
import pytest
import reference
import shopca_rs
from sklearn.datasets import load_digits, load_iris

# k > d on continuous data: every eigenvalue is simple, so Algorithm 1 is a function of the data.
WELL_POSED = [
    (120, 1, 6),
    (200, 2, 5),
    (150, 4, 7),
    (100, 10, 14),
    (60, 20, 45),
    (300, 7, 60),
    (80, 3, 79),
    (700, 6, 9),
]
well_posed = pytest.mark.parametrize(("n", "d", "k"), WELL_POSED)


def error(got, expected):
    return reference.relative_error(got, expected)


def digits(rows):
    return load_digits().data[:: 1797 // rows][:rows]


@well_posed
@pytest.mark.parametrize("degenerate", ["average", "lapack"])
def test_the_mean_operator_is_algorithm_1_where_that_is_well_posed(n, d, k, degenerate):
    X = nasty.continuous(n, d, seed=n)
    S = shopca_rs.mean_shape_operator(X, k, degenerate=degenerate)
    assert S.shape == (d, d)
    assert S.dtype == np.float64
    assert error(S, reference.algorithm_1(X, k)) < 1e-12


@well_posed
def test_algorithm_2_is_algorithm_1(n, d, k):
    X = nasty.continuous(n, d, seed=n)
    indices = reference.neighbors(X, k)
    expected = reference.algorithm_1(X, k, indices)
    assert error(reference.algorithm_2(X, k, 32, indices), expected) < 1e-12
    assert error(shopca_rs.mean_shape_operator(X, k), reference.algorithm_2(X, k, 32, indices)) < 1e-12


@pytest.mark.parametrize("d", [2, 3, 8, 25, 60])
@pytest.mark.parametrize("degenerate", ["average", "lapack"])
def test_one_null_direction_leaves_algorithm_1_well_posed(d, degenerate):
    X = nasty.continuous(90, d, seed=d)
    S = shopca_rs.mean_shape_operator(X, d, degenerate=degenerate)
    assert error(S, reference.algorithm_1(X, d)) < 1e-12


def test_the_average_is_the_closed_form_on_nasty_data(nasty_points):
    X = nasty_points
    for k in nasty.neighbor_counts(X):
        indices, _ = shopca_rs.k_neighbors(X, k)
        expected = reference.algorithm_1(X, k, indices, reference.averaged_operator)
        assert error(shopca_rs.mean_shape_operator(X, k), expected) < 1e-12, f"k = {k}"


def test_local_operators_are_the_closed_form_on_nasty_data(nasty_points):
    X = nasty_points
    for k in nasty.neighbor_counts(X):
        indices, _ = shopca_rs.k_neighbors(X, k)
        expected = np.array([reference.averaged_operator(X[row]) for row in indices])
        assert error(shopca_rs.local_shape_operators(X, k), expected) < 1e-12, f"k = {k}"


@pytest.mark.parametrize(
    ("X", "k"),
    [
        (nasty.continuous(40, 9), 4),
        (nasty.continuous(40, 5), 3),
        (nasty.grid(), 6),
        (np.eye(6), 5),
        (nasty.two_copies(), 4),
        (nasty.collinear(), 7),
    ],
    ids=["k_below_d", "k_just_below_d", "grid", "repeated_eigenvalues", "duplicated_points", "rank_one"],
)
def test_the_average_is_the_mean_over_random_bases(X, k):
    point, draws = len(X) // 2, 1500
    S = shopca_rs.local_shape_operators(X, k, points=[point])[0]
    neighborhood = X[reference.nearest(X, X[point], k, own=point)]
    basis = reference.random_basis(np.random.default_rng(7))
    drawn = np.array([reference.shape_operator(neighborhood, basis) for _ in range(draws)])
    # E‖mean − S‖² is the summed variance of the entries divided by the number of draws.
    standard_error = np.sqrt(drawn.var(axis=0, ddof=1).sum() / draws)
    assert standard_error > 1e-4 * np.linalg.norm(S), "the basis must matter here"
    assert np.linalg.norm(drawn.mean(axis=0) - S) < 5 * standard_error


def test_column_sums_are_those_of_the_covariance_in_any_basis(nasty_points):
    # P = W∘W is doubly stochastic, so 1ᵀ II = 1ᵀ for whatever basis W.
    X = nasty_points
    for k in nasty.neighbor_counts(X):
        indices, _ = shopca_rs.k_neighbors(X, k)
        C = np.mean([reference.covariance(X[row]) for row in indices], axis=0)
        for degenerate in ("average", "lapack"):
            S = shopca_rs.mean_shape_operator(X, k, degenerate=degenerate)
            assert np.abs(S.sum(axis=0) + C.sum(axis=0)).max() <= 1e-12 * np.linalg.norm(C)


@pytest.mark.parametrize("degenerate", ["average", "lapack"])
def test_local_operators_average_to_the_mean(nasty_points, degenerate):
    for k in nasty.neighbor_counts(nasty_points):
        local = shopca_rs.local_shape_operators(nasty_points, k, degenerate=degenerate)
        mean = shopca_rs.mean_shape_operator(nasty_points, k, degenerate=degenerate)
        assert error(local.mean(axis=0), mean) < 1e-13


@well_posed
def test_local_operators_are_those_of_algorithm_1(n, d, k):
    X = nasty.continuous(n, d, seed=n)
    points = [0, n - 1, n // 2]
    local = shopca_rs.local_shape_operators(X, k, points=points, degenerate="lapack")
    for S, point in zip(local, points, strict=True):
        neighborhood = X[reference.nearest(X, X[point], k, own=point)]
        assert error(S, reference.shape_operator(neighborhood)) < 1e-11


def test_curvatures_are_the_spectra_of_the_local_operators(nasty_points):
    X = nasty_points
    n, d = X.shape
    for k in nasty.neighbor_counts(X):
        local = shopca_rs.local_shape_operators(X, k)
        spectra = np.linalg.eigvals(local)
        curved = shopca_rs.operator_curvatures(X, k)
        scale = np.linalg.norm(local, axis=(1, 2))
        assert curved.principal.shape == (n, d)
        assert (np.diff(curved.principal, axis=1) >= 0).all()
        gap = np.abs(curved.principal - np.sort(spectra.real, axis=1)).max(axis=1)
        assert (gap <= 1e-12 * scale).all()
        assert (np.abs(curved.mean - np.trace(local, axis1=1, axis2=2) / d) <= 1e-13 * scale).all()
        assert (np.abs(curved.gaussian - np.linalg.det(local)) <= 1e-12 * scale**d).all()


@well_posed
def test_gaussian_curvature_is_the_determinant_to_full_relative_precision(n, d, k):
    X = nasty.continuous(n, d, seed=n)
    determinants = np.linalg.det(shopca_rs.local_shape_operators(X, k))
    assert np.allclose(shopca_rs.operator_curvatures(X, k).gaussian, determinants, rtol=1e-8, atol=0)


def test_gaussian_curvature_is_zero_where_the_neighbours_span_too_little():
    X = nasty.wide()
    assert not shopca_rs.operator_curvatures(X, 10).gaussian.any()
    assert not shopca_rs.operator_curvatures(nasty.collinear(), 12).gaussian.any()


@pytest.mark.parametrize("k", [3, 7, 12])
def test_iris_agrees_with_the_oracle(k):
    X = load_iris().data
    indices, _ = shopca_rs.k_neighbors(X, k)
    expected = reference.algorithm_1(X, k, indices, reference.averaged_operator)
    assert error(shopca_rs.mean_shape_operator(X, k), expected) < 1e-12


@pytest.mark.parametrize("k", [5, 8, 63, 80])
def test_digits_agree_with_the_oracle(k):
    X = digits(120)
    expected = reference.algorithm_1(X, k, operator=reference.averaged_operator)
    assert error(shopca_rs.mean_shape_operator(X, k), expected) < 1e-12


def test_the_solvers_basis_gives_another_answer_on_digits():
    X = digits(120)
    average, lapack = (
        shopca_rs.mean_shape_operator(X, 8, degenerate=choice) for choice in ("average", "lapack")
    )
    assert 1e-3 < error(lapack, average) < 0.2
