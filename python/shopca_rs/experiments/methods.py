"""The methods that are compared: prepared data → an embedding, and details of the fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .preparation import reduced

Matrix = NDArray[np.float64]
Bases = Literal["numpy", "lapack", "average"]

COMPONENTS = 2


@dataclass(frozen=True, eq=False)
class Embedding:
    """What a method returns.

    Attributes
    ----------
    Z : ndarray of shape (n, m)
        The embedding.
    details : dict
        Numbers of the fit worth keeping, such as λ; empty for methods that have none.
    """

    Z: Matrix
    details: dict[str, float] = field(default_factory=dict)


Embed = Callable[[Matrix, int, int], Embedding]


@dataclass(frozen=True)
class Method:
    """A method with its settings.

    Attributes
    ----------
    name : str
        Short, also the name of its files.
    title : str
        As it appears in the report.
    embed : callable
        Prepared data, a seed and the number of output dimensions → `Embedding`.
    seeded : bool
        Whether the result depends on the seed: such a method is run several times.
    linear : bool
        Whether it is a linear map: such a method is also compared in more than two dimensions.
    squares : float
        How many n × n arrays of float64 are held at once; linkage of the embedding holds one.
    """

    name: str
    title: str
    embed: Embed
    seeded: bool = False
    linear: bool = False
    squares: float = 1.0


def pca(X: Matrix, seed: int, components: int = COMPONENTS) -> Embedding:
    """scikit-learn's PCA.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Prepared data.
    seed : int
        Not used: the solver has no random numbers.
    components : int, default=2
        Number of output dimensions.

    Returns
    -------
    Embedding
        The scores.
    """
    from sklearn.decomposition import PCA  # type: ignore[import-untyped]

    return Embedding(PCA(components, svd_solver="full").fit_transform(X))


def isomap(X: Matrix, seed: int, components: int = COMPONENTS) -> Embedding:
    """scikit-learn's Isomap with its defaults (5 neighbours).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Prepared data.
    seed : int
        Not used: its solver starts from NumPy's global generator, which the caller has seeded.
    components : int, default=2
        Number of output dimensions.

    Returns
    -------
    Embedding
        The embedding.
    """
    from sklearn.manifold import Isomap  # type: ignore[import-untyped]

    return Embedding(Isomap(n_components=components).fit_transform(X))


def umap(X: Matrix, seed: int, components: int = COMPONENTS) -> Embedding:
    """umap-learn with its defaults (15 neighbours).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Prepared data.
    seed : int
        Its random state.
    components : int, default=2
        Number of output dimensions.

    Returns
    -------
    Embedding
        The embedding.
    """
    with warnings.catch_warnings():
        # At import it warns that a part that is not used here needs TensorFlow.
        warnings.simplefilter("ignore")
        from umap import UMAP

    Z = UMAP(n_components=components, random_state=seed, n_jobs=1).fit_transform(X)
    return Embedding(np.asarray(Z, dtype=np.float64))


def shopca(**settings: Any) -> Embed:
    """SHOPCA with the given parameters.

    Parameters
    ----------
    **settings
        Parameters of `shopca_rs.SHOPCA`.

    Returns
    -------
    callable
        For `Method.embed`.
    """

    def embed(X: Matrix, seed: int, components: int = COMPONENTS) -> Embedding:
        from ..estimators.shopca import SHOPCA

        fitted = SHOPCA(components, n_jobs=1, **settings).fit(X)
        details = {"k": fitted.n_neighbors_, "alpha": fitted.alpha_, "lambda": fitted.lambda_}
        return Embedding(fitted.transform(X), details)

    return embed


def lpp(**settings: Any) -> Embed:
    """Locality preserving projections with the given parameters.

    Parameters
    ----------
    **settings
        Parameters of `shopca_rs.LPP`.

    Returns
    -------
    callable
        For `Method.embed`.
    """

    def embed(X: Matrix, seed: int, components: int = COMPONENTS) -> Embedding:
        from ..estimators.lpp import LPP

        fitted = LPP(components, n_jobs=1, **settings).fit(X)
        return Embedding(fitted.transform(X), {"k": fitted.n_neighbors_})

    return embed


def after_pca(embed: Embed) -> Embed:
    """Run a method on the first 25 principal components where there are more features.

    Parameters
    ----------
    embed : callable
        The method.

    Returns
    -------
    callable
        For `Method.embed`.
    """

    def embed_scores(X: Matrix, seed: int, components: int = COMPONENTS) -> Embedding:
        return embed(reduced(X), seed, components)

    return embed_scores


def shopca_of_the_tables(bases: Bases) -> Embed:
    """SHOPCA as the paper's tables had it, down to the neighbours.

    It differs from `SHOPCA.published` in what the preset leaves to the estimator's own rules: neighbours at
    equal distances are scikit-learn's choice, directions without variance stay in the spectrum, and with two
    features, where no eigenvalue follows the second, the gap is that behind the first.

    Parameters
    ----------
    bases : {"numpy", "lapack", "average"}
        Where a neighbourhood does not determine its eigenvectors: those of NumPy's LAPACK, those of the
        LAPACK in this package, or the average over all.

    Returns
    -------
    callable
        For `Method.embed`.
    """

    def embed(X: Matrix, seed: int, components: int = COMPONENTS) -> Embedding:
        from sklearn.neighbors import NearestNeighbors  # type: ignore[import-untyped]

        from ..neighbors import k_neighbors
        from ..operators import mean_shape_operator
        from ..spectrum import (
            choose_alpha,
            covariance_scale,
            curved_covariance,
            eigengap,
            leading_directions,
            spectra,
        )
        from . import numpy_bases

        n, d = X.shape
        k = min(max(round(np.log(n)), 2), n - 2)
        neighbors = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
        if bases == "numpy":
            S = numpy_bases.mean_shape_operator(X, neighbors)
        else:
            S = mean_shape_operator(X, k, neighbors=neighbors, degenerate=bases, n_jobs=1)
        Sigma = np.cov(X, rowvar=False)
        grid = np.geomspace(0.1, 100, 15)
        gaps = eigengap(spectra(Sigma, S, grid), min(components, d - 1), "eigenvalue")
        alpha = choose_alpha(grid, gaps)
        directions = leading_directions(curved_covariance(Sigma, S, alpha), components).vectors
        distances = k_neighbors(X, k + 1, n_jobs=1)[1]
        details = {
            "k": k,
            "alpha": alpha,
            "lambda": alpha * covariance_scale(Sigma, S),
            "rank": int(np.linalg.matrix_rank(X)),
            "tied_rows": int((distances[:, k - 1] == distances[:, k]).sum()),
        }
        return Embedding((X - X.mean(axis=0)) @ directions, details)

    return embed


def _compared(shopcas: Sequence[Method]) -> tuple[Method, ...]:
    return (
        Method("pca", "PCA", pca),
        *shopcas,
        # Its distances, their squares, the centred kernel and a temporary of each step.
        Method("isomap", "Isomap", isomap, squares=4.0),
        Method("umap", "UMAP", umap, seeded=True),
    )


PUBLISHED = _compared(
    [
        Method("shopca-numpy", "SHOPCA, NumPy's bases", shopca_of_the_tables("numpy")),
        Method("shopca-lapack", "SHOPCA, our LAPACK's bases", shopca_of_the_tables("lapack")),
        Method("shopca-average", "SHOPCA, average over bases", shopca_of_the_tables("average")),
    ]
)
WRITTEN = _compared(
    [
        Method("shopca-lapack", "SHOPCA, our LAPACK's bases", shopca(degenerate="lapack")),
        Method("shopca-average", "SHOPCA, average over bases", shopca()),
    ]
)
# He and Niyogi's method without repairs. Some data sets have directions without any local variance, where it
# has no solution: this ridge is far below every other variance and only makes B positive definite.
PLAIN_RIDGE = 1e-9

_SHOPCAS = (
    Method("shopca", "SHOPCA", shopca(), linear=True),
    Method("shopca-alpha-1", "SHOPCA, α = 1", shopca(alpha=1.0), linear=True),
    Method("shopca-self", "SHOPCA, include_self", shopca(include_self=True), linear=True),
    Method(
        "shopca-self-alpha-1",
        "SHOPCA, include_self, α = 1",
        shopca(include_self=True, alpha=1.0),
        linear=True,
    ),
)
FAIR = (
    Method("pca", "PCA", pca, linear=True),
    *_SHOPCAS,
    Method("lpp-plain", "LPP, plain", lpp(ridge=PLAIN_RIDGE, resolution=False), linear=True),
    Method("lpp", "LPP", lpp(), linear=True),
    Method("isomap", "Isomap", after_pca(isomap), squares=4.0),
    Method("umap", "UMAP", after_pca(umap), seeded=True),
)
OUTLIERS = (Method("pca", "PCA", pca), *_SHOPCAS)
