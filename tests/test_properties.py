import numpy as np
import reference
from hypothesis import given
from hypothesis import strategies as st
from shopca_rs import k_neighbors, local_shape_operators, mean_shape_operator, operator_curvatures

# Rounding turns eigenvectors by 1e-16 over the relative gap of their eigenvalues; gaps of 1e-5 do occur.
TOLERANCE = 1e-10

seeds = st.integers(0, 2**32 - 1)


@st.composite
def sizes(draw, fewest_columns=1):
    d = draw(st.integers(fewest_columns, 8))
    n = draw(st.integers(5, 60))
    k = draw(st.integers(2, n - 1))
    return n, d, k, np.random.default_rng(draw(seeds))


@st.composite
def clouds(draw):
    """Continuous data in columns of different scales: no ties."""
    n, d, k, rng = draw(sizes())
    return rng.normal(size=(n, d)) * rng.uniform(0.2, 5, size=d), k, rng


@st.composite
def grids(draw):
    """Small integers: exact distances, many ties, duplicates and repeated eigenvalues."""
    n, d, k, rng = draw(sizes())
    return rng.integers(-3, 4, size=(n, d)).astype(float), k, rng


@st.composite
def overdetermined(draw):
    """Continuous data with twice as many neighbours as columns: every covariance is regular."""
    _, d, _, rng = draw(sizes())
    return rng.normal(size=(6 * d + 10, d)), 2 * d + 4, rng


def same(got, expected, tolerance=TOLERANCE):
    return reference.relative_error(got, expected) < tolerance


def second_forms(X, k):
    covariances = np.array([reference.covariance(X[row]) for row in k_neighbors(X, k)[0]])
    return -local_shape_operators(X, k) @ np.linalg.inv(covariances)


@given(clouds())
def test_row_order_does_not_matter(drawn):
    X, k, rng = drawn
    order = rng.permutation(len(X))
    assert same(mean_shape_operator(X[order], k), mean_shape_operator(X, k))


@given(grids())
def test_row_order_does_not_matter_with_the_neighbours_carried_along(drawn):
    X, k, rng = drawn
    order = rng.permutation(len(X))
    neighbors = np.argsort(order)[k_neighbors(X, k)[0][order]]
    assert same(mean_shape_operator(X[order], k, neighbors=neighbors), mean_shape_operator(X, k))


@given(clouds() | grids())
def test_columns_that_change_places_take_their_rows_and_columns_along(drawn):
    X, k, rng = drawn
    order = rng.permutation(X.shape[1])
    S = mean_shape_operator(X, k)
    assert same(mean_shape_operator(X[:, order], k), S[np.ix_(order, order)])


@given(clouds() | grids())
def test_a_point_reflection_does_not_matter(drawn):
    X, k, _ = drawn
    assert same(mean_shape_operator(-X, k), mean_shape_operator(X, k))


@given(overdetermined())
def test_the_second_form_does_not_see_the_signs_of_columns(drawn):
    # S = −II C: flipping columns turns C into D C D and leaves II, made of elementwise products, as it is.
    X, k, rng = drawn
    flipped = X * rng.choice([-1.0, 1.0], size=X.shape[1])
    assert same(second_forms(flipped, k), second_forms(X, k), 1e-9)


@given(clouds() | grids(), st.integers(-60, 60))
def test_a_power_of_two_scales_by_its_square_exactly(drawn, power):
    X, k, _ = drawn
    c = 2.0**power
    assert np.array_equal(mean_shape_operator(c * X, k), c**2 * mean_shape_operator(X, k))


@given(clouds() | grids(), st.sampled_from([3.0, 7.0, 1001.0, -5.0]))
def test_a_factor_scales_by_its_square(drawn, c):
    X, k, _ = drawn
    assert same(mean_shape_operator(c * X, k), c**2 * mean_shape_operator(X, k))


@given(clouds(), st.sampled_from([0.1, 1e-7, 1e9 / 3]))
def test_a_broken_factor_scales_by_its_square(drawn, c):
    X, k, _ = drawn
    assert same(mean_shape_operator(c * X, k), c**2 * mean_shape_operator(X, k))


@given(clouds() | grids(), st.sampled_from([1.0, -1000.0, 1e6, -(2.0**24)]))
def test_a_translation_without_rounding_costs_no_digits(drawn, offset):
    X, k, rng = drawn
    # Multiples of 2⁻²⁰ below 2²⁸ leave room for the sum, so nothing but the package rounds.
    X = np.round(X * 2**20) / 2**20
    moved = X + offset * rng.integers(0, 2, size=X.shape[1])
    assert np.array_equal(k_neighbors(moved, k)[0], k_neighbors(X, k)[0])
    assert same(mean_shape_operator(moved, k), mean_shape_operator(X, k))


@given(overdetermined())
def test_a_translation_by_a_million_costs_what_the_data_lose(drawn):
    # Entries near 1e6 are rounded by 6e-11; the frame magnifies that by the inverse of its smallest gap.
    X, k, _ = drawn
    assert same(mean_shape_operator(X + 1e6, k), mean_shape_operator(X, k), 1e4 * np.spacing(1e6))


@given(clouds() | grids())
def test_every_operator_has_real_eigenvalues_that_are_not_positive(drawn):
    X, k, _ = drawn
    for degenerate in ("average", "lapack"):
        local = local_shape_operators(X, k, degenerate=degenerate)
        scale = np.linalg.norm(local, axis=(1, 2)).max()
        spectra = np.linalg.eigvals(local)
        assert np.abs(spectra.imag).max() <= 1e-9 * scale
        assert spectra.real.max() <= 1e-9 * scale
        principal = operator_curvatures(X, k, degenerate=degenerate).principal
        assert (principal <= 0).all()
        assert np.abs(principal - np.sort(spectra.real, axis=1)).max() <= 1e-9 * scale


@given(grids())
def test_duplicating_a_data_set_keeps_every_neighbour_at_its_distance(drawn):
    X, k, _ = drawn
    _, distances = k_neighbors(X, k, queries=X)
    _, doubled = k_neighbors(np.concatenate([X, X]), 2 * k, queries=X)
    assert np.array_equal(doubled, np.repeat(distances, 2, axis=1))
