"""Whether one method is better than another over many data sets, and by how much."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_RESAMPLES = 10_000
_DECIMALS = 12


@dataclass(frozen=True)
class Comparison:
    """A method against another on the same data sets.

    Attributes
    ----------
    mean, median : float
        Of the differences, positive where the method is the better one.
    wins, losses, ties : int
        On how many data sets its score is higher, lower, the same.
    p : float
        Of the two-sided Wilcoxon signed-rank test; 1 if no score differs.
    """

    mean: float
    median: float
    wins: int
    losses: int
    ties: int
    p: float


def compare(ours: ArrayLike, base: ArrayLike) -> Comparison:
    """Compare the scores of a method with those of another on the same data sets.

    Differences are taken to the twelfth decimal: what is smaller is rounding and counts as a tie, and two
    differences that agree so far share a rank. Ties do not enter the test.

    Parameters
    ----------
    ours : array-like of shape (n,)
        Scores of the method, higher is better.
    base : array-like of shape (n,)
        Scores of the other one.

    Returns
    -------
    Comparison
        Their differences in numbers.

    Examples
    --------
    >>> compare([0.9, 0.8, 0.7, 0.6], [0.8, 0.8, 0.5, 0.3])
    Comparison(mean=0.15, median=0.15, wins=3, losses=0, ties=1, p=0.25)
    """
    from scipy.stats import wilcoxon  # type: ignore[import-untyped]

    differences = np.round(_scores(ours) - _same_length(base, ours), _DECIMALS)
    nonzero = differences[differences != 0]
    p = 1.0
    if len(nonzero):
        with warnings.catch_warnings():
            # Some versions say so when ties among few differences make them use the normal approximation.
            warnings.filterwarnings("ignore", "Sample size too small", UserWarning)
            p = float(wilcoxon(nonzero).pvalue)
    return Comparison(
        mean=round(float(differences.mean()), _DECIMALS),
        median=round(float(np.median(differences)), _DECIMALS),
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=len(differences) - len(nonzero),
        p=p,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of several tests by Holm's method.

    Parameters
    ----------
    p_values : sequence of float
        One of each test.

    Returns
    -------
    list of float
        Adjusted ones in the same order. Calling those up to 0.05 significant keeps the family-wise error rate
        at 0.05 or below.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1.0)
    return [float(value) for value in adjusted]


def bootstrap_interval(values: ArrayLike, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Return a bootstrap interval of the mean: percentiles of the means of 10 000 samples with replacement.

    Parameters
    ----------
    values : array-like of shape (n,)
        One number of each data set.
    level : float, default=0.95
        Coverage, between 0 and 1.
    seed : int, default=0
        Of the samples.

    Returns
    -------
    low, high : float
        The interval.

    Examples
    --------
    >>> bootstrap_interval([0.5, 0.5, 0.5])
    (0.5, 0.5)
    """
    values = _scores(values)
    chosen = np.random.default_rng(seed).integers(len(values), size=(_RESAMPLES, len(values)))
    tail = (1 - level) / 2
    low, high = np.quantile(values[chosen].mean(axis=1), [tail, 1 - tail])
    return float(low), float(high)


def average_ranks(scores: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Rank the methods on each data set and average the ranks of each.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n,)
        Scores of each method on the same data sets, higher is better.

    Returns
    -------
    dict
        Mean rank by method, 1 is the best. Methods with the same score, to the twelfth decimal, share the
        mean of their ranks.

    Examples
    --------
    >>> average_ranks({"PCA": [0.5, 0.7], "SHOPCA": [0.6, 0.7]})
    {'PCA': 1.75, 'SHOPCA': 1.25}
    """
    from scipy.stats import rankdata

    first = next(iter(scores.values()))
    table = np.stack([_same_length(column, first) for column in scores.values()])
    ranks = rankdata(-np.round(table, _DECIMALS), axis=0).mean(axis=1)
    return {method: float(rank) for method, rank in zip(scores, ranks, strict=True)}


def _scores(values: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise ValueError("Scores must be one finite number for each data set, and at least one.")
    return found


def _same_length(values: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    found, expected = _scores(values), len(_scores(others))
    if len(found) != expected:
        raise ValueError(f"Scores must be of the same data sets, got {len(found)} and {expected} numbers.")
    return found
