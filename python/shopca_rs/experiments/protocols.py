"""The rules of a comparison: how the data are prepared, which methods run, what is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import methods, scores
from .methods import Method

Matrix = NDArray[np.float64]

MOST_FEATURES = 25


@dataclass(frozen=True)
class Protocol:
    """One set of rules.

    Attributes
    ----------
    name : str
        As on the command line.
    prepare : callable
        Data with NaN where a value is missing → data for the methods.
    methods : tuple of Method
        What runs.
    clusterings : tuple of str
        What the embeddings are clustered by.
    accuracy : bool
        Whether the accuracy of nearest neighbours is scored as well.
    """

    name: str
    prepare: Callable[[Matrix], Matrix]
    methods: tuple[Method, ...]
    clusterings: tuple[str, ...]
    accuracy: bool = False

    def method(self, name: str) -> Method:
        """Return the method of that name.

        Parameters
        ----------
        name : str
            `Method.name`.

        Returns
        -------
        Method
            The method.
        """
        return next(method for method in self.methods if method.name == name)


def as_published(X: Matrix) -> Matrix:
    """Prepare as for the paper's tables: missing values are 0, PCA to 25, and only then standardised.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data, NaN where a value is missing.

    Returns
    -------
    ndarray of shape (n, min(d, 25))
        Data for the methods. Where PCA came first their covariance is the identity.
    """
    from sklearn.decomposition import PCA  # type: ignore[import-untyped]

    X = np.nan_to_num(X)
    if X.shape[1] > MOST_FEATURES:
        X = PCA(MOST_FEATURES, random_state=42).fit_transform(X)
    return _standardised(X)


def as_written(X: Matrix) -> Matrix:
    """Prepare as the paper's text says: standardised, then PCA to 25 if there are more features.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data, NaN where a value is missing. The text is silent about those; they become the column's mean.

    Returns
    -------
    ndarray of shape (n, min(d, 25))
        Data for the methods.
    """
    from sklearn.decomposition import PCA

    X = np.nan_to_num(_standardised(X))
    if X.shape[1] > MOST_FEATURES:
        X = PCA(MOST_FEATURES, svd_solver="full").fit_transform(X)
    return X


def _standardised(X: Matrix) -> Matrix:
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

    scaled: Matrix = StandardScaler().fit_transform(X)
    return scaled


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("published", as_published, methods.PUBLISHED, ("complete",)),
        Protocol("written", as_written, methods.WRITTEN, ("ward",)),
        Protocol("fair", as_written, methods.FAIR, scores.CLUSTERINGS, accuracy=True),
    )
}
