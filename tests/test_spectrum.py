"""The pure functions from Σ and S̄ to α, λ and directions, against NumPy and against hand-made matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from nasty import continuous
from reference import algorithm_1
from shopca_rs import SHOPCA, diagnostics, spectrum
from shopca_rs.varying import _on_complement, on_varying_directions
from sklearn.decomposition import PCA
from sklearn.utils.extmath import svd_flip


def operators(d=5, k=8):
    X = continuous(d=d)
    return np.cov(X, rowvar=False), algorithm_1(X, k)


def block(*, real, imaginary):
    """A matrix with the eigenvalues real ± i·imaginary."""
    return np.array([[real, -imaginary], [imaginary, real]])


def rotated(matrix, seed=0):
    """The same eigenvalues in a basis that is not orthogonal, so that nothing is on an axis."""
    B = np.random.default_rng(seed).normal(size=matrix.shape) + 2 * np.eye(len(matrix))
    return B @ matrix @ np.linalg.inv(B), B


def test_the_scale_gives_the_curvature_the_trace_of_the_covariance():
    Sigma, S = operators()
    scale = spectrum.covariance_scale(Sigma, S)
    assert np.trace(Sigma + scale * S) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("noise", [0.0, -1e-31])
def test_a_shape_operator_that_is_zero_up_to_rounding_weighs_nothing(noise):
    assert spectrum.covariance_scale(np.eye(3), noise * np.eye(3)) == 0


def test_the_default_grid_is_fifty_geometric_steps_from_a_tenth_to_a_hundred():
    grid = spectrum.default_grid()
    np.testing.assert_array_equal(grid, np.geomspace(0.1, 100, 50))


def test_curved_covariance_runs_from_the_covariance_to_the_shape_operator():
    Sigma, S = operators()
    scale = np.trace(Sigma) / abs(np.trace(S))
    np.testing.assert_array_equal(spectrum.curved_covariance(Sigma, S, 0), Sigma)
    np.testing.assert_array_equal(spectrum.curved_covariance(Sigma, S, np.inf), S)
    np.testing.assert_allclose(spectrum.curved_covariance(Sigma, S, 2.0), Sigma + 2 * scale * S, rtol=1e-14)


def test_spectra_are_numpy_s_eigenvalues_by_real_part_descending():
    Sigma, S = operators()
    found = spectrum.spectra(Sigma, S, [0, 0.5, 30])
    scale = np.trace(Sigma) / abs(np.trace(S))
    for row, alpha in zip(found, [0, 0.5, 30], strict=True):
        expected = np.linalg.eigvals(Sigma + alpha * scale * S)
        assert (np.diff(row.real) <= 0).all()
        np.testing.assert_allclose(np.sort_complex(row), np.sort_complex(expected), atol=1e-10)


def test_a_real_spectrum_is_not_complex():
    Sigma, S = operators()
    assert spectrum.spectra(Sigma, (S + S.T) / 2, [0, 1]).dtype == np.float64


def test_the_gap_is_divided_by_the_mass_or_by_the_eigenvalue():
    e = np.array([4.0, 1.0, -3.0])
    assert spectrum.eigengap(e, 1) == pytest.approx(3 / 8)
    assert spectrum.eigengap(e, 2) == pytest.approx(4 / 8)
    assert spectrum.eigengap(e, 1, "eigenvalue") == pytest.approx(3 / 4)
    assert spectrum.eigengap(e, 2, "eigenvalue") == pytest.approx(4 / 1)


@pytest.mark.parametrize(("criterion", "expected"), [("mass", -3 / 8), ("eigenvalue", -1.0)])
def test_behind_the_last_eigenvalue_comes_a_zero(criterion, expected):
    assert spectrum.eigengap([4.0, 1.0, -3.0], 3, criterion) == pytest.approx(expected)


@pytest.mark.parametrize("criterion", ["mass", "eigenvalue"])
def test_no_eigenvalues_but_zeros_leave_no_gap_and_no_nan(criterion):
    assert spectrum.eigengap(np.zeros((2, 3)), 1, criterion).tolist() == [0, 0]


def test_the_gap_of_a_complex_pair_is_that_of_its_real_parts():
    e = np.array([3 + 4j, 3 - 4j, 1])
    assert spectrum.eigengap(e, 1) == 0
    assert spectrum.eigengap(e, 2) == pytest.approx(2 / 11)
    assert spectrum.eigengap(e, 2, "eigenvalue") == pytest.approx(2 / 5)


def test_the_first_of_equal_gaps_is_chosen_and_rounding_does_not_count():
    assert spectrum.choose_alpha([1, 2, 3, 4], [0.1, 0.5, 0.5, 0.2]) == 2
    assert spectrum.choose_alpha([1, 2, 3, 4], [0.1, 0.5 - 1e-16, 0.5, 0.2]) == 2
    assert spectrum.choose_alpha([1, 2, 3, 4], [0.1, 0.5 - 1e-9, 0.5, 0.2]) == 3
    assert spectrum.choose_alpha([1, 2], [-0.5, -0.5 - 1e-9]) == 1


def test_directions_are_right_eigenvectors_of_unit_length():
    Sigma, S = operators()
    M = spectrum.curved_covariance(Sigma, S, 1.0)
    values, vectors = spectrum.leading_directions(M, 3)
    np.testing.assert_allclose(M @ vectors, vectors * values[:3], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1)


def test_directions_of_a_symmetric_matrix_are_orthogonal():
    Sigma, S = operators()
    vectors = spectrum.leading_directions(spectrum.curved_covariance(Sigma, (S + S.T) / 2, 3.0), 5).vectors
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-13)


@pytest.mark.parametrize("leading_real", [5.0, -5.0], ids=["pair second", "pair first"])
def test_a_complex_pair_gives_two_independent_columns_that_span_its_plane(leading_real):
    M, B = rotated(scipy.linalg.block_diag(block(real=1, imaginary=2), leading_real, -9.0))
    values, vectors = spectrum.leading_directions(M, 3)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1)
    at = 1 if leading_real > 0 else 0
    assert values[at] == pytest.approx(1 + 2j)
    assert values[at + 1] == pytest.approx(1 - 2j)
    plane = vectors[:, at : at + 2]
    assert np.linalg.cond(plane) < 100
    assert np.degrees(scipy.linalg.subspace_angles(plane, B[:, :2])).max() < 1e-6


def test_a_pair_cut_in_half_gives_its_real_part():
    M, B = rotated(scipy.linalg.block_diag(5.0, block(real=1, imaginary=2), -9.0))
    vectors = spectrum.leading_directions(M, 2).vectors
    whole = spectrum.leading_directions(M, 3).vectors
    np.testing.assert_array_equal(vectors, whole[:, :2])
    found, eigenvectors = scipy.linalg.eig(M)
    real = eigenvectors[:, np.argmin(abs(found - (1 + 2j)))].real
    assert abs(vectors[:, 1] @ real) == pytest.approx(np.linalg.norm(real))
    assert np.degrees(scipy.linalg.subspace_angles(vectors[:, 1:], B[:, 1:3])).max() < 1e-6


def test_two_pairs_in_a_row_each_keep_their_own_plane():
    M, B = rotated(scipy.linalg.block_diag(block(real=2, imaginary=1), block(real=1, imaginary=3)))
    vectors = spectrum.leading_directions(M, 4).vectors
    assert np.linalg.matrix_rank(vectors) == 4
    for plane in (slice(0, 2), slice(2, 4)):
        assert np.degrees(scipy.linalg.subspace_angles(vectors[:, plane], B[:, plane])).max() < 1e-6


def test_signs_are_those_of_scikit_learn():
    rows = np.random.default_rng(0).normal(size=(6, 9))
    np.testing.assert_array_equal(
        spectrum.fix_signs(rows), svd_flip(None, rows.copy(), u_based_decision=False)[1]
    )


def test_one_feature_has_one_direction_and_a_whole_gap():
    Sigma, S = np.array([[2.0]]), np.array([[-0.5]])
    np.testing.assert_allclose(spectrum.spectra(Sigma, S, [0.5, 2.0]), [[1.0], [-2.0]])
    np.testing.assert_allclose(spectrum.eigengap(spectrum.spectra(Sigma, S, [0.5, 2.0]), 1), [1.0, -1.0])
    assert spectrum.leading_directions(Sigma, 1).vectors.tolist() == [[1.0]]


def test_directions_without_variance_are_left_out_whatever_the_units():
    X = continuous(d=4) * [1e9, 1.0, 1e-6, 1.0]
    X = np.column_stack([X, np.full(len(X), 3.0), X[:, 1] + X[:, 3]])
    Sigma, S = np.cov(X, rowvar=False), algorithm_1(X, 10)
    kept = on_varying_directions(Sigma, S)
    assert kept.basis.shape == (6, 4)
    np.testing.assert_allclose(kept.basis.T @ kept.basis, np.eye(4), atol=1e-12)
    assert np.trace(kept.covariance) == pytest.approx(np.trace(Sigma))
    assert np.trace(kept.shape_operator) == pytest.approx(np.trace(S))
    assert np.abs(kept.basis[4]).max() < 1e-12


def test_as_many_directions_stay_as_will_be_asked_for():
    Sigma = np.diag([2.0, 0.0, 0.0])
    kept = on_varying_directions(Sigma, -Sigma, m=2)
    assert kept.covariance.shape == (2, 2)
    np.testing.assert_allclose(np.diag(kept.covariance), [2, 0])


def test_data_that_vary_everywhere_stay_as_they_are():
    Sigma, S = operators()
    kept = on_varying_directions(Sigma, S)
    np.testing.assert_array_equal(kept.covariance, Sigma)
    np.testing.assert_array_equal(kept.shape_operator, S)


def test_diagnostics_follow_their_formulas():
    Sigma, S = operators()
    skew = np.linalg.norm((S - S.T) / 2, 2) / np.linalg.norm((S + S.T) / 2, 2)
    assert diagnostics.skew_ratio(S) == pytest.approx(skew)
    assert diagnostics.skew_ratio(np.zeros((2, 2))) == 0
    assert diagnostics.imaginary_ratio(np.zeros(2)) == 0
    assert diagnostics.bauer_fike_bound(S, 3.0) == pytest.approx(3 * np.linalg.norm(S, 2))
    assert diagnostics.bauer_fike_bound(np.zeros((2, 2)), np.inf) == 0
    own = spectrum.leading_directions(Sigma, 2).vectors
    np.testing.assert_allclose(diagnostics.angles_to_pca(Sigma, own), 0, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.1, 1, 30])
def test_no_eigenvalue_moves_farther_than_the_bound_of_bauer_and_fike(alpha):
    Sigma, S = operators()
    lambda_ = alpha * spectrum.covariance_scale(Sigma, S)
    before, after = np.linalg.eigvalsh(Sigma), spectrum.spectra(Sigma, S, [alpha])[0]
    moved = np.abs(after[:, None] - before).min(axis=1).max()
    assert 0 < moved <= diagnostics.bauer_fike_bound(S, lambda_)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda S: spectrum.eigengap([1.0, 0.0], 3), "m must be at most d = 2"),
        (lambda S: spectrum.eigengap([1.0, 0.0], 1, "other"), "criterion must be one of"),
        (lambda S: spectrum.leading_directions(S[:1], 1), "must be a square matrix, got shape"),
        (lambda S: spectrum.leading_directions(S * np.nan, 1), "must hold finite numbers only"),
        (lambda S: spectrum.curved_covariance(S, S, -1), "alpha must be a number from 0 to inf, got -1"),
        (lambda S: spectrum.curved_covariance(S, S, np.nan), "alpha must be a number from 0 to inf, got nan"),
        (lambda S: spectrum.curved_covariance(S, -S[:2, :2], 1), "must have one shape"),
        (lambda S: spectrum.curved_covariance(S, -S, 1.7e308), "Use alpha=inf"),
        (lambda S: spectrum.spectra(S, S, []), "1-D with at least one number"),
        (lambda S: spectrum.spectra(S, S, [1, -2]), "got -2 among them"),
        (lambda S: spectrum.spectra(S, S, ["a"]), "must be a list of numbers from 0 to inf, got dtype <U1"),
        (lambda S: spectrum.choose_alpha([1, 2], [1]), "must have one shape"),
        (lambda S: spectrum.choose_alpha([1, 2], [1, np.nan]), "gaps must hold finite"),
    ],
)
def test_a_wrong_argument_is_named_in_a_sentence(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call(2e3 * np.eye(3))


@pytest.mark.parametrize("far", [1.0, 1e5, 1e10, 1e15, 1e20, 1e100])
def test_alpha_zero_is_pca_where_columns_depend_on_each_other_and_differ_in_size(far):
    X = np.random.default_rng(0).integers(0, 3, size=(8, 35)).astype(float)
    X[0] *= far
    variance = SHOPCA(1, alpha=0, max_features=None, n_neighbors=3).fit(X).explained_variance_
    np.testing.assert_allclose(variance, PCA(1).fit(X).explained_variance_, rtol=1e-12)


def test_a_matrix_whose_entries_differ_by_hundreds_of_orders_of_magnitude_has_directions():
    rng = np.random.default_rng(0)
    for _ in range(20):
        M = np.outer(*[[1e146, 1.0, 1e-3]] * 2) * spectrum.symmetric_part(rng.normal(size=(3, 3)))
        directions = spectrum.leading_directions(M, 2)
        assert np.isfinite(directions.vectors).all()
        np.testing.assert_allclose(np.linalg.norm(directions.vectors, axis=0), 1.0)


def test_columns_without_variance_do_not_outweigh_one_that_is_tiny():
    Sigma = np.zeros((5, 5))
    Sigma[3, 3] = 5e-72
    Sigma[3, :3] = Sigma[:3, 3] = [-2e-204, 1e-204, 2e-204]
    basis = on_varying_directions(Sigma, np.zeros((5, 5))).basis
    assert np.allclose(basis.ravel(), [0, 0, 0, 1, 0], atol=1e-15)


@pytest.mark.parametrize("weak", [1e-4, 1e-9, 1e-11, 1e-13])
@pytest.mark.parametrize("rank", [12, 30, 39, 40])
def test_the_directions_kept_are_those_of_the_eigenvectors_however_weak_the_last_one_is(rank, weak):
    rng = np.random.default_rng(rank)
    Q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    values = np.zeros(40)
    values[:rank] = np.append(np.linspace(3, 1, rank - 1), weak)
    Sigma = spectrum.symmetric_part(Q * values @ Q.T)
    basis = on_varying_directions(Sigma, -Sigma).basis
    deviation = np.sqrt(np.diag(Sigma))
    e, V = np.linalg.eigh(Sigma / deviation / deviation[:, None])
    wanted = V[:, e > 1e-12] * deviation[:, None]
    assert basis.shape == wanted.shape
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    # Rounding turns a direction of variance λ by about ε/λ.
    np.testing.assert_allclose(basis @ (basis.T @ wanted), wanted, atol=1e-12 + 1e-14 / weak)


@pytest.mark.parametrize(
    ("d", "rank", "weak"), [(40, 21, 1.0), (40, 39, 1e-3), (150, 110, 1e-7), (60, 10, 1.0)]
)
def test_both_matrices_are_those_of_the_basis_where_some_directions_are_without_variance(d, rank, weak):
    rng = np.random.default_rng(d)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :rank]
    Sigma = spectrum.symmetric_part(Q * np.geomspace(1, weak, rank) @ Q.T)
    S = rng.normal(size=(d, rank)) @ Q.T
    kept = on_varying_directions(Sigma, S, 2)
    assert kept.basis.shape == (d, rank)
    assert np.array_equal(kept.covariance, kept.covariance.T)
    np.testing.assert_allclose(kept.basis.T @ kept.basis, np.eye(rank), atol=1e-13)
    np.testing.assert_allclose(kept.basis @ (kept.basis.T @ Q), Q, atol=1e-12 + 1e-14 / weak)
    np.testing.assert_allclose(kept.covariance, kept.basis.T @ Sigma @ kept.basis, atol=1e-13)
    np.testing.assert_allclose(kept.shape_operator, kept.basis.T @ S @ kept.basis, atol=1e-12)


def test_columns_that_need_no_reflection_have_a_complement_too():
    Sigma, S = operators()
    kept = _on_complement(Sigma, S, np.eye(5)[:, :2] * [1.0, -3.0])
    np.testing.assert_allclose(np.abs(kept.basis), np.eye(5)[:, 2:], atol=1e-15)
    np.testing.assert_allclose(kept.covariance, kept.basis.T @ Sigma @ kept.basis, atol=1e-15)
    np.testing.assert_allclose(kept.shape_operator, kept.basis.T @ S @ kept.basis, atol=1e-15)
