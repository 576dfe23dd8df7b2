"""Bounds on the gap of Σ + λS̄, against all eigenvalues, on matrices that are far from symmetric too."""

import numpy as np
import pytest
from shopca_rs.gap_bounds import GapBounds
from shopca_rs.partial_eigen import eigenpairs_near, leading_eigenvectors, symmetric_spectrum
from shopca_rs.spectrum_mass import spectrum_mass_bound

PLACES = np.geomspace(0.05, 20, 25)


def pair(seed, n=70, skew=0.0, strong=0.5):
    """Σ, and S̄ = −G C with G = I + strong · uuᵀ, plus a skew part."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    Sigma = basis * np.concatenate([[9.0, 6.0, 4.0, 3.5], np.linspace(2, 0.1, n - 4)]) @ basis.T
    C = rng.normal(size=(n, 3 * n)) / np.sqrt(3 * n)
    C = 0.3 * Sigma + 0.2 * C @ C.T
    u = np.full((n, 1), n**-0.5)
    noise = rng.normal(size=(n, n)) / n
    return (Sigma + Sigma.T) / 2, -(C + strong * u @ (u.T @ C)) + skew * (noise - noise.T)


def spectrum(A):
    values = np.linalg.eigvals(A)
    return values[np.argsort(-values.real)]


def prepared(Sigma, S, m, places):
    bounds = GapBounds(Sigma, S, m)
    for place in places:
        H = Sigma + place * (S + S.T) / 2
        bounds.add(symmetric_spectrum(H, bounds.wanted).vectors)
    bounds.prepare()
    return bounds


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize(("skew", "strong"), [(0.0, 0.0), (0.0, 0.5), (0.0, 8.0), (0.5, 0.5), (4.0, 2.0)])
@pytest.mark.parametrize("seed", range(3))
def test_no_bound_is_wrong_at_its_place_or_beyond(m, skew, strong, seed):
    Sigma, S = pair(seed, skew=skew, strong=strong)
    bounds = prepared(Sigma, S, m, PLACES[::6])
    spectra = [spectrum(Sigma + place * S) for place in PLACES]
    gaps = np.array([(e[m - 1] - e[m]).real for e in spectra])
    last = np.array([abs(e[m - 1]) for e in spectra])
    for i, place in enumerate(PLACES):
        found = bounds.at(place, PLACES[i:])
        assert (found.most >= gaps[i:] - 1e-10).all()
        assert (found.least <= gaps[i:] + 1e-10).all()
        assert (found.last <= last[i:] + 1e-10).all()
        for z, e in zip(found.between, spectra[i:], strict=True):
            assert np.isnan(z) or (e.real > z).sum() == m


def test_a_bound_is_sharp_where_its_vectors_come_from_and_useful_beyond():
    Sigma, S = pair(0)
    place = PLACES[4]
    found = prepared(Sigma, S, 2, [place]).at(place, PLACES[4:8])
    gaps = [(e[1] - e[2]).real for e in (spectrum(Sigma + other * S) for other in PLACES[4:8])]
    assert found.most[0] == pytest.approx(gaps[0], rel=1e-3)
    assert found.least[0] == pytest.approx(gaps[0], rel=1e-3)
    assert np.isfinite(found.most).all()
    assert (found.most <= 1.2 * np.array(gaps)).all()


def test_without_vectors_there_is_no_bound():
    Sigma, S = pair(0)
    assert np.isinf(prepared(Sigma, S, 2, []).at(1.0, np.array([1.0])).most).all()


def test_a_symmetric_matrix_and_vectors_given_twice_are_no_obstacle():
    Sigma, S = pair(1)
    S = (S + S.T) / 2
    found = prepared(Sigma, S, 2, [1.0, 1.0]).at(1.0, np.array([1.0]))
    e = np.linalg.eigvalsh(Sigma + S)[::-1]
    assert found.most[0] == pytest.approx(e[1] - e[2], rel=1e-6)


@pytest.mark.parametrize("count", [1, 7])
def test_the_spectrum_of_a_symmetric_matrix_comes_with_its_leading_vectors(count):
    H = pair(2)[0]
    found = symmetric_spectrum(H, count)
    values, vectors = found.values, found.vectors
    np.testing.assert_allclose(values, np.linalg.eigvalsh(H)[::-1], atol=1e-13)
    np.testing.assert_allclose(H @ vectors, vectors * values[:count], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-12)


@pytest.mark.parametrize("power", [-500, 0, 500])
def test_leading_eigenvectors_of_known_eigenvalues_real_and_complex(power):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(60, 60)) / 20 + np.diag(np.linspace(4, -4, 60))
    A[:2, :2] = [[9.0, 2.0], [-2.0, 9.0]]
    values = spectrum(A)
    assert values[0].imag
    vectors = leading_eigenvectors(np.ldexp(A, power), values * 2.0**power, 4)
    np.testing.assert_allclose(A @ vectors, vectors * values[:4], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1)
    assert np.array_equal(vectors[:, 0].conj(), vectors[:, 1])
    largest = vectors[np.abs(vectors[:, 0]).argmax(), 0]
    assert abs(largest.imag) < 1e-15


def test_eigenvalues_that_coincide_have_no_single_vectors():
    assert leading_eigenvectors(np.diag([2.0, 2.0, 1.0]), np.array([2.0, 2.0, 1.0]), 1) is None


def test_eigenpairs_are_found_from_rough_eigenvalues_and_none_twice():
    A = pair(4)[0] + 0.1 * pair(4, skew=4.0)[1]
    values = spectrum(A)[:3]
    found = eigenpairs_near(A, values * 1.001)
    np.testing.assert_allclose(found.values, values, rtol=1e-12)
    np.testing.assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-11)
    assert eigenpairs_near(A, values[[0, 0]] * [1.001, 0.999]) is None


@pytest.mark.parametrize("strength", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 1e-1])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_on_the_mass_of_a_spectrum_holds_and_is_sharp_for_rank_two(strength, noise, seed):
    rng = np.random.default_rng(seed)
    n = 80
    H = rng.normal(size=(n, n))
    H = H + H.T
    U = np.linalg.qr(rng.normal(size=(n, 2)))[0]
    k = strength * np.array([[0.0, 1.0], [-1.0, 0.0]])
    rest = noise * rng.normal(size=(n, n)) / n
    rest = rest - rest.T
    found = symmetric_spectrum(H, 3)
    bound = spectrum_mass_bound(
        found.values, found.form.diagonal, found.form.beside, found.turned(U), k, np.linalg.norm(rest)
    )
    mass = np.abs(np.linalg.eigvals(H + U @ k @ U.T + rest)).sum()
    assert bound <= mass
    if noise == 0:
        assert bound >= (1 - 0.01) * mass
