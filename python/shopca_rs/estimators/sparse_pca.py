"""PCA of a sparse table that is never made dense: the products do the centring.

With X sparse, μ its mean and w weights of mean 1, the deviations are A = √w (X − 1 μᵀ). The products
A v = √w (X v − μᵀv) and Aᵀu = Xᵀ√w u − μ Σ √w u take time proportional to the nonzeros. The leading
eigenvectors of AᵀA, or of A Aᵀ where there are fewer rows than columns, come from ARPACK, with a fixed start
and to machine precision. Small problems go to a dense solver.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh  # type: ignore[import-untyped]
from sklearn.utils.sparsefuncs import min_max_axis  # type: ignore[import-untyped]

from ..arguments import too_large
from ..sparse_tables import as_sparse
from ..spectrum import fix_signs

Matrix = NDArray[np.float64]

# ARPACK is faster where the matrix has more than this many times the wanted directions, and this many rows.
_TIMES = 5
_SMALL = 300
# Numbers in a dense block of rows: 2 MB.
_BLOCK = 2**18


def dense_if_narrow(estimator: Any, X: Any, stacklevel: int) -> Any:
    """Return a sparse table as a dense one if no PCA is needed, else as it is; float64.

    Parameters
    ----------
    estimator : LinearProjection
        Its `max_features` says what is narrow. With None a warning says how large the copy is.
    X : ndarray or sparse matrix of shape (n, d)
        A checked table.
    stacklevel : int
        Of the warning, to point at the caller of `fit`.

    Returns
    -------
    ndarray or csr_matrix
        The table.
    """
    if not sparse.issparse(X):
        return X.astype(np.float64, copy=False)
    n, d = X.shape
    if estimator._feature_limit(n, d) >= d:
        if estimator.max_features is None:
            warnings.warn(
                f"max_features=None works on a dense copy of X, {n * d * 8 / 1e6:.0f} MB. "
                "Set max_features to reduce a sparse table by PCA instead.",
                UserWarning,
                stacklevel=stacklevel,
            )
        return X.toarray().astype(np.float64, copy=False)
    return as_sparse(X)


def reduce_sparse(estimator: Any, X: Any, weights: Matrix | None = None) -> tuple[Matrix, float]:
    """Centre a sparse table and reduce it by PCA.

    Sets `mean_`, `n_components_` and `_basis` of the estimator.

    Parameters
    ----------
    estimator : LinearProjection
        Says how many features are kept.
    X : csr_matrix of shape (n, d)
        The table.
    weights : ndarray of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    scores : ndarray of shape (n, n_kept)
        The principal components of the rows.
    total : float
        The variance of the table, divided by n − 1.
    """
    n, d = X.shape
    w = None if weights is None else weights / weights.mean()
    with np.errstate(over="ignore", invalid="ignore"):
        estimator.mean_ = _mean(X, w)
        total = _squares(X, estimator.mean_, w) / (n - 1)
    if not np.isfinite(total):
        raise too_large(float(np.abs(X.data).max()))
    wanted, limit = estimator.n_components, estimator._feature_limit(n, d)
    least = max(limit, int(wanted)) if isinstance(wanted, Integral) else limit
    share = 0.0 if wanted is None or isinstance(wanted, Integral) else float(wanted)
    deviations = _Deviations(X, estimator.mean_, w)
    estimator.n_components_, basis = estimator._prepare(
        n, d, lambda _: _principal_components(deviations, least, share, total)
    )
    assert basis is not None, "a narrow table is dense"
    estimator._basis = basis
    return affine(X, estimator.mean_, basis), total


def affine(X: Any, mean: Matrix, matrix: Matrix) -> Matrix:
    """Return (X − mean) matrixᵀ for a dense or a sparse table."""
    if sparse.issparse(X):
        product: Matrix = X.astype(np.float64, copy=False) @ matrix.T
        product -= mean @ matrix.T
        return product
    return (X.astype(np.float64, copy=False) - mean) @ matrix.T  # type: ignore[no-any-return]


class _Deviations:
    """A, by its products and by dense blocks of rows or columns."""

    def __init__(self, X: Any, mean: Matrix, w: Matrix | None) -> None:
        self.X, self.transposed, self.mean = X, X.T, mean
        self.root = np.ones(X.shape[0]) if w is None else np.sqrt(w)
        self.shape: tuple[int, int] = X.shape

    def times(self, v: Matrix) -> Matrix:
        product: Matrix = self.root * (self.X @ v - self.mean @ v)
        return product

    def transposed_times(self, u: Matrix) -> Matrix:
        u = self.root * u
        product: Matrix = self.transposed @ u - self.mean * u.sum()
        return product

    def gram(self, by_columns: bool) -> Matrix:
        """Return AᵀA, or A Aᵀ, from blocks of A."""
        size = self.shape[by_columns is False]
        gram = np.zeros((size, size))
        for block in self._blocks(by_columns):
            gram += block @ block.T if by_columns else block.T @ block
        return gram

    def _blocks(self, by_columns: bool) -> Iterator[Matrix]:
        axis, across = (1, 0) if by_columns else (0, 1)
        table = self.X.tocsc() if by_columns else self.X
        step = max(1, _BLOCK // self.shape[across])
        for start in range(0, self.shape[axis], step):
            part = slice(start, start + step)
            if by_columns:
                yield self.root[:, None] * (table[:, part].toarray() - self.mean[part])
            else:
                yield self.root[part, None] * (table[part].toarray() - self.mean)


def _principal_components(A: _Deviations, least: int, share: float, total: float) -> tuple[Matrix, Matrix]:
    """Return the leading variances and directions, for at least this many and this share of the variance.

    The remaining variance is appended as one number, so that all of them add up to the total.
    """
    n, d = A.shape
    most, count = min(n, d), min(least, n, d)
    if total == 0:
        return np.zeros(count), np.eye(count, d)
    while True:
        variances, rows = _leading(A, count)
        if count == most or variances.sum() > share * total:
            rest = max(total - float(variances.sum()), 0.0)
            return (variances if count == most else np.append(variances, rest)), rows
        count = min(2 * count, most)


def _leading(A: _Deviations, count: int) -> tuple[Matrix, Matrix]:
    n, d = A.shape
    by_columns = n < d
    size = min(n, d)
    if size <= max(_TIMES * count, _SMALL):
        gram = A.gram(by_columns)
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=(size - count, size - 1))
    else:
        product = _right_product(A) if by_columns else _left_product(A)
        operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
        start = np.random.RandomState(0).uniform(-1, 1, size)
        values, vectors = eigsh(operator, k=count, v0=start, ncv=min(2 * count + 40, size), tol=0)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order].clip(0), vectors[:, order]
    if by_columns:
        vectors = _across(A, vectors)
    return values / (n - 1), fix_signs(vectors.T)


def _left_product(A: _Deviations) -> Any:
    return lambda v: A.transposed_times(A.times(np.ravel(v)))


def _right_product(A: _Deviations) -> Any:
    return lambda u: A.times(A.transposed_times(np.ravel(u)))


def _across(A: _Deviations, left: Matrix) -> Matrix:
    """Return orthonormal directions Aᵀu for eigenvectors u of A Aᵀ."""
    directions = np.column_stack([A.transposed_times(column) for column in left.T])
    orthonormal, triangle = scipy.linalg.qr(directions, mode="economic")
    return orthonormal * np.where(np.diag(triangle) < 0, -1.0, 1.0)  # type: ignore[no-any-return]


def _mean(X: Any, w: Matrix | None) -> Matrix:
    n = X.shape[0]
    mean: Matrix = np.asarray(X.sum(axis=0) if w is None else w @ X, dtype=np.float64).ravel() / n
    # The mean of equal numbers can miss them by a rounding error, which is not variance.
    low, high = min_max_axis(X, axis=0)
    constant = low == high
    mean[constant] = low[constant]
    return mean


def _squares(X: Any, mean: Matrix, w: Matrix | None) -> float:
    """Return Σ w (x − μ)² over all entries; zeros add μ² each, so nothing cancels."""
    row_weights = None if w is None else np.repeat(w, np.diff(X.indptr))
    columns = X.indices
    squares = (X.data - mean[columns]) ** 2
    if row_weights is not None:
        squares *= row_weights
    stored = np.bincount(columns, weights=row_weights, minlength=X.shape[1])
    zeros = (X.shape[0] if w is None else float(w.sum())) - stored
    return math.fsum((float(squares.sum()), float(zeros.clip(0) @ mean**2)))
