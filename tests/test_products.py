"""Products by SciPy's BLAS are those of NumPy, whatever the order of the matrices in memory."""

import numpy as np
import pytest
from shopca_rs.products import lower_squared, product, squared

ORDERS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "part of a larger one": lambda matrix: np.pad(matrix, 2)[2:-2, 2:-2],
    "every other row": lambda matrix: np.repeat(matrix, 2, axis=0)[::2],
}


@pytest.mark.parametrize("left", ORDERS)
@pytest.mark.parametrize("right", ORDERS)
@pytest.mark.parametrize("shape", [(5, 3, 4), (1, 1, 1), (4, 6, 1), (4, 6, 0), (0, 2, 3), (3, 0, 2)])
def test_a_product_is_that_of_numpy(shape, left, right):
    rng = np.random.default_rng(0)
    a, b, c = shape
    A, B = rng.normal(size=(a, b)), rng.normal(size=(b, c))
    found = product(ORDERS[left](A), ORDERS[right](B))
    assert found.shape == (a, c)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, A @ B, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (1, 4), (4, 1)])
def test_a_matrix_squared_is_that_of_numpy_and_symmetric(shape, order):
    rng = np.random.default_rng(0)
    M = rng.normal(size=shape)
    found = squared(ORDERS[order](M))
    np.testing.assert_allclose(found, M.T @ M, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.tril(found), lower_squared(ORDERS[order](M)))
