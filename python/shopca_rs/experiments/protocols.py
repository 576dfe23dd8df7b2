"""The rules of a comparison: how the data are prepared, which methods run, what is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import methods, scores
from .methods import COMPONENTS, Method
from .preparation import MOST_FEATURES, reduced, standardised

Matrix = NDArray[np.float64]

MOST_ROWS = 2000  # of a data set under the fair protocol
FEW_ROWS = 400  # up to here a data set takes part in the experiment with outliers
DRAWS = 3  # of outliers on every such data set
DIMENSIONS = (COMPONENTS, 5, 10)


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
        How the embeddings are clustered.
    accuracy : bool
        Whether the accuracy of nearest neighbours is scored as well, and the mean of all.
    neighborhoods : bool
        Whether trustworthiness and continuity are measured as well.
    dimensions : tuple of int
        Numbers of output dimensions of linear methods; the others have the first one only.
    fair : bool
        Whether it is one of our own comparisons: on all data sets, at most 2000 rows of each, without the
        columns that tell the class.
    outliers : bool
        Whether rows are inflated before the fit. The scores are then those of the other rows.
    """

    name: str
    prepare: Callable[[Matrix], Matrix]
    methods: tuple[Method, ...]
    clusterings: tuple[str, ...]
    accuracy: bool = False
    neighborhoods: bool = False
    dimensions: tuple[int, ...] = (COMPONENTS,)
    fair: bool = False
    outliers: bool = False

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
    return standardised(X)


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
    return reduced(as_fair(X))


def as_fair(X: Matrix) -> Matrix:
    """Prepare for the fair protocol: standardised, and missing values at the column's mean.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Data, NaN where a value is missing.

    Returns
    -------
    ndarray of shape (n, d)
        Data for the methods. Those that reduce many features by PCA first do so by themselves.
    """
    return np.nan_to_num(standardised(X))


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("published", as_published, methods.PUBLISHED, ("complete",)),
        Protocol("written", as_written, methods.WRITTEN, ("ward",)),
        Protocol(
            "fair",
            as_fair,
            methods.FAIR,
            scores.CLUSTERINGS,
            accuracy=True,
            neighborhoods=True,
            dimensions=DIMENSIONS,
            fair=True,
        ),
        Protocol(
            "outliers", as_fair, methods.OUTLIERS, scores.CLUSTERINGS, accuracy=True, fair=True, outliers=True
        ),
    )
}
