"""The α of a whole fit: found with few eigenproblems, and the one that all of them would have given."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import reference
from shopca_rs import SHOPCA, alpha_search
from shopca_rs.blas_threads import one_blas_thread
from shopca_rs.convex import convex_above, convex_below
from shopca_rs.leading import leading_gap
from shopca_rs.spectrum import curved_covariance, default_grid, fix_signs, leading_directions
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

BUNDLED = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}
# fmt: off
REAL = [
    "Breast", "Engine1", "Indian_pines", "JapaneseVowels", "LED-display-domain-7digit", "Satellite", "USPS",
    "abalone", "backache", "cardiotocography", "diggle_table_a2", "eucalyptus", "glass", "heart-h",
    "ionosphere", "isolet", "letter", "lymph", "mammography", "mfeat-factors", "mfeat-fourier",
    "mfeat-karhunen", "mfeat-pixel", "mfeat-zernike", "mnist_784", "optdigits", "pendigits", "penguins",
    "satimage", "segment", "semeion", "sonar", "texture", "usp05",
]
# fmt: on
CRITERIA = ["mass", "eigenvalue"]


def wide(n=300, d=180, seed=0):
    """Data with a few strong directions and many weak ones, of which neighbourhoods see some."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(6, d)) * 2
    return (centres[rng.integers(6, size=n)] + rng.normal(size=(n, d))) * np.linspace(1.5, 0.3, d)


@pytest.fixture
def bounds_everywhere(monkeypatch):
    monkeypatch.setattr(alpha_search, "SMALLEST", 4)


def agrees(X, m, criterion):
    """Fit, and compare α and all gaps with those of all spectra in plain NumPy."""
    fitted = SHOPCA(m, criterion=criterion, max_features=None).fit(X)
    Sigma, S, _ = fitted._operators()
    gaps = reference.eigengaps(Sigma, S, default_grid(), m, criterion)
    best = default_grid()[np.argmax(gaps >= gaps.max() * (1 - 1e-12))]
    assert fitted.alpha_ == best
    np.testing.assert_allclose(fitted.eigengaps_, gaps, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", BUNDLED)
def test_bounds_leave_the_alpha_of_all_spectra_on_bundled_data(bounds_everywhere, name, criterion):
    X = StandardScaler().fit_transform(BUNDLED[name]().data)
    for m in (1, 2, 3):
        agrees(X, m, criterion)


@pytest.mark.parametrize("name", REAL)
def test_bounds_leave_the_alpha_of_all_spectra_on_real_data(bounds_everywhere, name):
    folder = os.environ.get("SHOPCA_DATA")
    if folder is None:
        pytest.skip("set SHOPCA_DATA to the folder that has the data sets")
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=True) as file:
        X = np.nan_to_num(np.asarray(file["X"], dtype=np.float64))
    rows = np.random.default_rng(0).permutation(len(X))[:600]
    columns = np.random.default_rng(1).permutation(X.shape[1])[:150]
    agrees(StandardScaler().fit_transform(X[np.ix_(rows, columns)]), 2, "mass")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("columns", [15, 16, 25, 64, 127])
def test_few_general_spectra_leave_the_alpha_of_all_of_them_on_small_data(columns, criterion):
    X = StandardScaler().fit_transform(wide(200, columns, seed=columns))
    for m in (1, 2, columns - 1, columns):
        agrees(X, m, criterion)


def test_an_infinite_alpha_takes_part_in_the_choice_on_small_data_too():
    fitted = SHOPCA(2, alpha=1, max_features=None).fit(wide(200, 30))
    Sigma, S, _ = fitted._operators()
    for scale in (1e-6, 1.0, 1e6):
        grid = np.append(default_grid(), np.inf)
        choice = alpha_search.best_alpha(Sigma, scale * S, grid, 2, "mass", 1)
        gaps = reference.eigengaps(Sigma, scale * S, grid, 2, "mass")
        assert choice.alpha == grid[np.argmax(gaps >= gaps.max() * (1 - 1e-12))]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("m", [1, 2, 7])
def test_no_bound_is_below_the_gap_itself(seed, m):
    fitted = SHOPCA(m, alpha=1, max_features=None).fit(wide(120, 60, seed))
    Sigma, S, _ = fitted._operators()
    grid = np.append(default_grid(), np.inf)
    gaps = reference.eigengaps(Sigma, S, grid, m, "mass")
    search = alpha_search._Search(Sigma, S, grid, m, "mass")
    anchors = search.next_steps(len(grid))
    search.learn(anchors, [step(i) for step, i in anchors])
    assert (search.upper() >= gaps * (1 - 1e-9)).all()
    assert (search.lower() <= gaps * (1 + 1e-9)).all()
    for i in range(0, len(grid) - 1, 3):
        search.learn([(search.bound, i)], [search.bound(i)])
    assert np.isfinite(search.bounds_of_gaps.most).sum() > 10
    assert (search.upper() >= gaps * (1 - 1e-9)).all()
    assert (search.lower() <= gaps * (1 + 1e-9)).all()
    for i in range(0, len(grid), 5):
        search.learn([(search.solve, i)], [search.solve(i)])
    assert (search.upper() >= gaps * (1 - 1e-9)).all()
    assert (search.lower() <= gaps * (1 + 1e-9)).all()


def test_few_spectra_are_computed_for_a_matrix_of_some_size(monkeypatch):
    X = wide()
    computed = []
    spectrum = alpha_search._spectrum
    monkeypatch.setattr(
        alpha_search, "_spectrum", lambda *given: computed.append(given[2]) or spectrum(*given)
    )
    fitted = SHOPCA(2, max_features=None).fit(X)
    assert len(fitted._operators().covariance) >= alpha_search.SMALLEST
    assert len(computed) <= 5
    assert len(fitted.eigenvalues_) == len(fitted._operators().covariance)


def test_gaps_are_computed_when_read_and_the_same_after_pickling():
    fitted = SHOPCA(2, max_features=None).fit(wide())
    assert fitted._eigengaps is None
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(fitted.eigengaps_, copy.eigengaps_)
    assert fitted.eigengaps_ is fitted.eigengaps_
    assert fitted.alpha_ == fitted.alpha_grid_[np.argmax(fitted.eigengaps_)]


def test_the_fit_has_the_eigenvectors_of_the_chosen_alpha_and_its_spectrum_when_read():
    fitted = SHOPCA(2, max_features=None).fit(wide())
    # As after a choice of α that did not need this spectrum.
    fitted._eigenvalues = None
    Sigma, S, basis = fitted._operators()
    expected = leading_directions(curved_covariance(Sigma, S, fitted.alpha_), 2)
    np.testing.assert_allclose(fitted.components_, fix_signs((basis @ expected.vectors).T), atol=1e-9)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(fitted.eigenvalues_, expected.eigenvalues, atol=1e-12)
    assert fitted.eigenvalues_ is fitted.eigenvalues_
    assert np.array_equal(copy.eigenvalues_, fitted.eigenvalues_)
    assert copy.imaginary_ratio_ == fitted.imaginary_ratio_


def test_the_fit_does_not_depend_on_the_number_of_threads():
    X = wide()
    one, two, three = (SHOPCA(2, max_features=None, n_jobs=jobs).fit(X) for jobs in (1, 2, 3))
    for other in (two, three):
        assert one.alpha_ == other.alpha_
        assert np.array_equal(one.components_, other.components_)
        assert np.array_equal(one.eigengaps_, other.eigengaps_)


@pytest.mark.parametrize("power", [-480, 400])
def test_the_unit_of_the_data_does_not_change_alpha(power):
    X = wide(200, 140)
    plain = SHOPCA(2, max_features=None).fit(X)
    assert len(plain._operators().covariance) >= alpha_search.SMALLEST
    assert SHOPCA(2, max_features=None).fit(np.ldexp(X, power)).alpha_ == plain.alpha_


def test_an_eigenvalue_that_only_the_numerical_range_hides_is_not_called_a_gap():
    # A coupling of 40 stretches the numerical range far beyond the eigenvalues 3, 2, 1, 0.9, ….
    A = np.diag(np.concatenate([[3.0, 2.0, 1.0], np.linspace(0.9, -1, 57)]))
    A[10, 50] = 40.0
    beyond = float(np.linalg.eigvalsh((A + A.T) / 2)[-1])
    found = leading_gap(A, 2, beyond)
    assert found.last is None
    assert found.least == 0 < 1.0 <= found.most


def test_the_gap_of_a_normal_matrix_is_found_to_rounding():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(80, 80)))[0]
    A = Q @ np.diag(np.concatenate([[5.0, 3.0, 2.5], np.linspace(1, -4, 77)])) @ Q.T
    found = leading_gap(A, 2, 5.5)
    assert found.most == pytest.approx(0.5, rel=1e-9)
    assert found.least == pytest.approx(0.5, rel=1e-9)
    assert found.least < 0.5 < found.most
    assert 2.5 < found.between < 3.0
    assert found.last == pytest.approx(3.0, rel=1e-12)


def test_a_gap_is_not_called_exact_where_another_eigenvalue_may_lie_in_it():
    # Coupling lifts the numerical range of the rest to between the third and the second eigenvalue.
    A = np.diag(np.concatenate([[5.0, 3.0, 2.0], np.linspace(1.9, -4, 57)]))
    A[3, 4] = 1.0
    found = leading_gap(A, 2, 5.1)
    assert (found.most, found.last) == (pytest.approx(1.0, rel=1e-9), pytest.approx(3.0, rel=1e-12))
    assert found.least == 0


def test_nothing_bounds_a_convex_function_of_which_no_value_is_known():
    nothing, places = np.empty(0), np.array([1.0, 2.0])
    assert (convex_above(nothing, nothing, places) == np.inf).all()
    assert (convex_below(nothing, nothing, places) == -np.inf).all()


def test_blas_has_its_threads_back_when_the_last_user_is_done():
    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert threads() == before
