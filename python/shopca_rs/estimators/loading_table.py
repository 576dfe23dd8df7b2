"""Loadings: the weight of every feature in every component, with names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import as_count
from ..classes import short_name
from ..optional_pandas import as_pandas
from .component_models import component_matrix, component_names, feature_names

# Features that a summary names for each component, and components that it lists.
TOP_FEATURES = 5
TOP_COMPONENTS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Loadings:
    """Components with the names of the features; ``np.asarray`` gives the numbers.

    Attributes
    ----------
    values : ndarray of shape (n_components, n_features)
        The rows of `components_`. They are comparable only if the features have comparable units: standardise
        first.
    components : list of str
        Names of the components, such as "shopca0".
    features : list of str
        Names of the features; "x0", "x1", … where the model was fitted without names.
    """

    values: NDArray[np.float64]
    components: list[str]
    features: list[str]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        # NumPy 1 does not accept copy=None.
        if copy is None:
            return np.asarray(self.values, dtype=dtype)
        return np.array(self.values, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        m, d = self.values.shape
        return "\n".join([f"Loadings(n_components={m}, n_features={d})", *self.lines()])

    def top(self, component: int = 0, n: int = TOP_FEATURES) -> list[tuple[str, float]]:
        """Return the features with the largest loadings in one component.

        Parameters
        ----------
        component : int, default=0
            Number of the component, from 0.
        n : int, default=5
            How many features at most. Those with a loading of 0 are left out.

        Returns
        -------
        list of (str, float)
            Names and loadings, by decreasing absolute value; ties in the order of the features.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from shopca_rs import LPP
        >>> LPP().fit(load_iris(as_frame=True).data).loadings_.top(0, 1)[0][0]
        'petal length (cm)'
        """
        j, count = as_count(component, "component", 0), as_count(n, "n", 1)
        if j >= len(self.values):
            raise ValueError(f"component must be at most {len(self.values) - 1}, got {j}. The first is 0.")
        row = self.values[j]
        order = np.argsort(-np.abs(row), kind="stable")[:count]
        return [(self.features[i], float(row[i])) for i in order if row[i] != 0]

    def lines(self) -> list[str]:
        """Return a line of text for each of the first components: its largest loadings.

        Returns
        -------
        list of str
            At most six lines of at most five features, and one more if there are more components.
        """
        found = []
        for j in range(min(len(self.values), TOP_COMPONENTS)):
            named = (f"{short_name(name)} {value:+.3g}" for name, value in self.top(j))
            found.append(f"  {f'component {j + 1}':<16} {', '.join(named) or 'all zero'}")
        if len(self.values) > TOP_COMPONENTS:
            found.append(f"  …                {len(self.values)} components in all")
        return found

    def to_pandas(self) -> Any:
        """Return a table with a row for each feature and a column for each component.

        Returns
        -------
        pandas.DataFrame
            Needs pandas.
        """
        return as_pandas().DataFrame(self.values.T, index=self.features, columns=self.components)


def loadings(model: Any) -> Loadings:
    """Return the loadings of a fitted model: its components with the names of the features.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted, with `components_`: SHOPCA, LPP, scikit-learn's PCA and others. For a pipeline, these are the
        loadings of the last step on the features it was given.

    Returns
    -------
    Loadings
        Numbers and names; `top` returns the largest ones, `to_pandas` a table.

    See Also
    --------
    stability : How much the loadings change from sample to sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from shopca_rs import loadings
    >>> model = make_pipeline(StandardScaler(), PCA(2)).fit(load_iris(as_frame=True).data)
    >>> loadings(model)
    Loadings(n_components=2, n_features=4)
      component 1      petal length (cm) +0.58, petal width (cm) +0.565, sepal length (cm) +0.521,
                       sepal width (cm) -0.269
      component 2      sepal width (cm) +0.923, sepal length (cm) +0.377, petal width (cm) +0.0669,
                       petal length (cm) +0.0245
    """
    values = component_matrix(model, "model")
    return Loadings(values, component_names(model), feature_names(model))
