"""PCA in front of an estimator: as accurate as a full SVD of the data, from less work."""

import numpy as np
import pytest
from shopca_rs import SHOPCA
from shopca_rs.estimators.linear_projection import principal_components
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA


def centred(X):
    return X - X.mean(axis=0)


def spectrum(n, d, sizes, seed=0):
    """Data with these singular values and random directions."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(n, len(sizes))))[0]
    V = np.linalg.qr(rng.normal(size=(d, len(sizes))))[0]
    return (U * sizes) @ V.T


DATA = {
    "digits, wide": load_digits().data[:50],
    "digits, tall": load_digits().data[:400],
    "normal": np.random.default_rng(0).normal(size=(120, 300)),
    "steep": spectrum(90, 200, 10.0 ** -np.linspace(0, 7, 80)),
    "nearly equal": spectrum(90, 200, np.linspace(1, 1 - 1e-5, 80)),
    "low rank": spectrum(90, 200, np.linspace(3, 1, 12)),
    "huge": np.random.default_rng(1).normal(size=(60, 150)) * 1e150,
    "tiny": np.random.default_rng(1).normal(size=(60, 150)) * 1e-150,
}


@pytest.mark.parametrize("name", DATA)
def test_components_span_what_a_full_svd_gives(name):
    X = centred(DATA[name])
    sizes, rows = np.linalg.svd(X / np.abs(X).max(), full_matrices=False)[1:]
    count = min(25, int((sizes > 1e-10 * sizes[0]).sum()))
    variances, directions = principal_components(X, 25)
    found = directions[:count]
    np.testing.assert_allclose(found @ found.T, np.eye(count), atol=1e-10)
    assert np.linalg.norm(found - found @ rows[:count].T @ rows[:count], 2) < 1e-8
    expected = (sizes[:count] * np.abs(X).max()) ** 2 / (len(X) - 1)
    np.testing.assert_allclose(variances[:count], expected, rtol=1e-6)


def test_where_the_product_has_lost_the_digits_the_data_are_decomposed_themselves():
    X = centred(DATA["steep"])
    rows = np.linalg.svd(X, full_matrices=False)[2]
    # The square of 1e-7 is below the rounding of 1.
    found = principal_components(X, 75)[1]
    assert np.linalg.norm(found - found @ rows[:75].T @ rows[:75], 2) < 1e-8


@pytest.mark.parametrize("shape", [(60, 40), (40, 90)])
def test_all_components_are_those_of_scikit_learn(shape):
    X = centred(np.random.default_rng(3).normal(size=shape))
    variances, directions = principal_components(X)
    pca = PCA(svd_solver="full").fit(X)
    rank = min(shape[0] - 1, shape[1])
    np.testing.assert_allclose(variances, pca.explained_variance_, atol=1e-12)
    np.testing.assert_allclose(directions[:rank], pca.components_[:rank], atol=1e-9)


def test_equal_weights_weigh_nothing():
    X = centred(np.random.default_rng(4).normal(size=(50, 80)))
    plain, weighted = principal_components(X, 10), principal_components(X, 10, np.full(50, 3.0))
    for one, other in zip(plain, weighted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_wide_data_give_the_same_bits_for_any_number_of_threads():
    X = np.random.default_rng(5).normal(size=(200, 500))
    fits = [SHOPCA(n_jobs=jobs).fit(X) for jobs in (1, 2, 3)]
    for other in fits[1:]:
        assert np.array_equal(fits[0].components_, other.components_)
