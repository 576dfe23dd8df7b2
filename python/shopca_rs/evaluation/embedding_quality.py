"""How well an embedding keeps the neighbourhoods of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arguments import (
    Progress,
    RandomState,
    as_count,
    as_flag,
    as_points,
    as_progress,
    as_sample,
    as_threads,
)

Result = TypeVar("Result")


class QualityError(NamedTuple):
    """Standard errors of the results of `quality`; zero without a sample.

    Attributes
    ----------
    trustworthiness, continuity, auc : float
        Of the numbers of the same names.
    q_nx, r_nx : ndarray of shape (n − 2,)
        Of each entry of the curves.
    """

    trustworthiness: float
    continuity: float
    auc: float
    q_nx: NDArray[np.float64]
    r_nx: NDArray[np.float64]


class Quality(NamedTuple):
    """Result of `quality`.

    Attributes
    ----------
    trustworthiness : float
        At most 1: whether the neighbours in Z are neighbours in X, for `n_neighbors`.
    continuity : float
        At most 1: whether the neighbours in X are neighbours in Z, for `n_neighbors`.
    auc : float
        The mean of `r_nx` with weights 1/K: one number for all sizes, with more weight on small ones.
    q_nx : ndarray of shape (n − 2,)
        For K = 1, 2, …: the mean fraction of the K neighbours of a point that are the same in both spaces.
    r_nx : ndarray of shape (n − 2,)
        The same, rescaled to 0 for a random embedding and 1 for a perfect one.
    n_neighbors : int
        The number of neighbours of trustworthiness and continuity.
    standard_error : QualityError
        Standard error of each of these due to the sample; zero without one.
    """

    trustworthiness: float
    continuity: float
    auc: float
    q_nx: NDArray[np.float64]
    r_nx: NDArray[np.float64]
    n_neighbors: int
    standard_error: QualityError

    def __repr__(self) -> str:
        def of(name: str) -> str:
            value, error = getattr(self, name), getattr(self.standard_error, name)
            return f"{name} = {value:.3f}" + (f" ± {error:.3f}" if error else "")

        numbers = ", ".join(map(of, ("trustworthiness", "continuity", "auc")))
        return f"Quality({numbers}, n_neighbors = {self.n_neighbors}, curves for K = 1 … {len(self.q_nx)})"


@overload
def trustworthiness(
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[False] = False,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> float: ...
@overload
def trustworthiness(
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[True],
    n_jobs: int | None = None,
    progress: Progress = None,
) -> tuple[float, float]: ...
def trustworthiness(
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: bool = False,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> float | tuple[float, float]:
    """Trustworthiness of an embedding: whether neighbours in Z are neighbours in X.

    With r(i, j) the rank of row j among the neighbours of row i in X,
    T = 1 − 2/(n k (2n − 3k − 1)) · Σ max(r(i, j) − k, 0) over all i and its k nearest neighbours j in Z.
    Neighbours are ordered by (distance, row number), so that ties are broken deterministically.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The data, points as rows. Computed in float64.
    Z : array-like of shape (n, m)
        Their embedding by any method, in the same order.
    n_neighbors : int, default=5
        The k of the formula, less than n/2.
    sample : int, optional
        Take the mean over this many rows i only, from 2 to n, drawn as in `mean_shape_operator`. Their
        neighbours are among all rows. None for all rows.
    random_state : int, RandomState or None, default=0
        Seed of the sample, or a generator to draw it from.
    return_error : bool, default=False
        Also return the standard error of the sample, zero without one.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores, -2 for all but one. The result does not
        depend on it.
    progress : bool or callable, optional
        True shows a progress bar; a callable is called with (done, total).

    Returns
    -------
    value : float
        1 if all neighbours in Z are neighbours in X; about ½ for a random embedding and small k.
    standard_error : float
        Only with `return_error`.

    See Also
    --------
    continuity : The reverse.
    quality : Both, and neighbourhoods of all sizes.

    Notes
    -----
    Takes O(n² (d + k)) time and O(n (d + k)) memory.

    References
    ----------
    .. [1] J. Venna and S. Kaski, "Neighborhood preservation in nonlinear projection methods: An experimental
       study", ICANN 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import trustworthiness
    >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [5, 5, 1]
    >>> bool(trustworthiness(X, X[:, :2]) > trustworthiness(X, X[:, 1:]) > 0.5)
    True
    """
    both = as_flag(return_error, "return_error")
    found = _call(_core.trustworthiness, X, Z, n_neighbors, sample, random_state, n_jobs, progress)
    return found if both else found[0]


@overload
def continuity(
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[False] = False,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> float: ...
@overload
def continuity(
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: Literal[True],
    n_jobs: int | None = None,
    progress: Progress = None,
) -> tuple[float, float]: ...
def continuity(
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int = 5,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_error: bool = False,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> float | tuple[float, float]:
    """Continuity of an embedding: whether neighbours in X are neighbours in Z.

    The `trustworthiness` of X as an embedding of Z: points that are close in the data but far apart in
    the embedding lower it.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The data, points as rows.
    Z : array-like of shape (n, m)
        Their embedding by any method, in the same order.
    n_neighbors : int, default=5
        Number of neighbours, less than n/2.
    sample, random_state, return_error, n_jobs, progress
        As in `trustworthiness`.

    Returns
    -------
    value : float
        1 if all neighbours in X are neighbours in Z.
    standard_error : float
        Only with `return_error`.

    See Also
    --------
    trustworthiness : The reverse, with the formula.
    quality : Both, and neighbourhoods of all sizes.

    References
    ----------
    .. [1] J. Venna and S. Kaski, "Neighborhood preservation in nonlinear projection methods: An experimental
       study", ICANN 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import continuity, trustworthiness
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> continuity(X, X[:, :2]) == trustworthiness(X[:, :2], X)
    True
    """
    both = as_flag(return_error, "return_error")
    found = _call(_core.continuity, X, Z, n_neighbors, sample, random_state, n_jobs, progress)
    return found if both else found[0]


def quality(
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int = 10,
    *,
    sample: int | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Quality:
    """Quality of an embedding: trustworthiness, continuity and the overlap of neighbourhoods of every size.

    Q_NX(K) is the fraction of common rows among the K nearest neighbours in X and in Z, averaged over all
    rows. R_NX(K) = ((n − 1) Q_NX(K) − K)/(n − 1 − K) rescales it to 0 for chance and 1 for perfection. The
    AUC is the mean of R_NX(K) over K = 1 … n − 2 with weights 1/K. Neighbours are ordered by (distance, row
    number).

    Parameters
    ----------
    X : array-like of shape (n, d)
        The data, points as rows. Computed in float64.
    Z : array-like of shape (n, m)
        Their embedding by any method, in the same order.
    n_neighbors : int, default=10
        Number of neighbours of trustworthiness and continuity, less than n/2.
    sample, random_state, n_jobs, progress
        As in `trustworthiness`. All rows are used unless `sample` is given.

    Returns
    -------
    Quality
        Named tuple of `trustworthiness`, `continuity`, `auc`, `q_nx`, `r_nx`, `n_neighbors` and
        `standard_error`.

    See Also
    --------
    trustworthiness, continuity : The single numbers, which take a tenth of the time.

    Notes
    -----
    The curve needs every rank: O(n² (d + m + log n)) time, or O(s n (d + m + log n)) for a sample of s rows,
    and O(n) memory for each thread, besides a copy of X and Z. From about 50 000 rows on, use a sample: with
    a thousand rows, the standard errors are below 0.01.

    References
    ----------
    .. [1] J. Venna and S. Kaski, "Neighborhood preservation in nonlinear projection methods: An experimental
       study", ICANN 2001.
    .. [2] J. A. Lee and M. Verleysen, "Quality assessment of dimensionality reduction: Rank-based criteria",
       Neurocomputing 72, 2009.
    .. [3] J. A. Lee, E. Renard, G. Bernard, P. Dupont and M. Verleysen, "Type 1 and 2 mixtures of
       Kullback–Leibler divergences as cost functions in dimensionality reduction based on similarity
       preservation", Neurocomputing 112, 2013.
    .. [4] J. A. Lee, D. H. Peluffo-Ordóñez and M. Verleysen, "Multi-scale similarities in stochastic
       neighbour embedding: Reducing dimensionality while preserving both local and global structure",
       Neurocomputing 169, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from shopca_rs import quality
    >>> X = np.random.default_rng(0).normal(size=(300, 3)) * [5, 5, 1]
    >>> result = quality(X, X[:, :2])
    >>> bool(0.8 < result.trustworthiness < 1), bool(0.5 < result.auc < 1)
    (True, True)
    >>> result.r_nx.shape
    (298,)
    >>> sampled = quality(X, X[:, :2], sample=100)
    >>> bool(abs(sampled.auc - result.auc) < 4 * sampled.standard_error.auc)
    True
    """
    k = as_count(n_neighbors, "n_neighbors", 1)
    return named(_call(_core.quality, X, Z, k, sample, random_state, n_jobs, progress), k)


def named(found: tuple[list[tuple[float, float]], list[NDArray[np.float64]]], k: int) -> Quality:
    """Return the results of the Rust core as a named tuple."""
    (trust, trust_error), (reverse, reverse_error), (auc, auc_error) = found[0]
    q_nx, r_nx, q_nx_error, r_nx_error = found[1]
    error = QualityError(trust_error, reverse_error, auc_error, q_nx_error, r_nx_error)
    return Quality(trust, reverse, auc, q_nx, r_nx, k, error)


def _call(
    function: Callable[..., Result],
    X: ArrayLike,
    Z: ArrayLike,
    n_neighbors: int,
    sample: int | None,
    random_state: RandomState,
    n_jobs: int | None,
    progress: Progress,
) -> Result:
    """Check the common arguments of the three functions and call Rust."""
    x, z, k = as_points(X), as_points(Z, "Z"), as_count(n_neighbors, "n_neighbors", 1)
    rows, threads = as_sample(sample, random_state, len(x)), as_threads(n_jobs)
    with as_progress(progress, function.__name__) as report:
        return function(x=x, z=z, k=k, points=rows, n_jobs=threads, progress=report)
