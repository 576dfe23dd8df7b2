"""SHOPCA, LPP, curvature and quality on AnnData objects, with scanpy's conventions.

The objects are used through their attributes: anndata is not imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse  # type: ignore[import-untyped]

from ..arguments import as_flag, as_text, shown
from ..estimators.linear_projection import LinearProjection
from ..estimators.lpp import LPP
from ..estimators.shopca import SHOPCA
from ..evaluation.embedding_quality import quality as embedding_quality
from ..geometry.second_form import curvatures


def shopca(
    adata: Any,
    n_components: int = 2,
    *,
    layer: str | None = None,
    use_highly_variable: bool | None = None,
    key_added: str = "shopca",
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Fit SHOPCA to the cells and store its embedding, loadings and spectrum.

    Parameters
    ----------
    adata : AnnData
        Cells as rows. `X` or the layer may be sparse.
    n_components : int, default=2
        Number of components.
    layer : str, optional
        The layer to use; `X` by default.
    use_highly_variable : bool, optional
        Fit to the genes of ``var["highly_variable"]`` only. The default is True if there is such a column.
    key_added : str, default="shopca"
        Prefix of the names under which results are stored.
    copy : bool, default=False
        Return a modified copy instead of changing `adata`.
    **parameters
        Other parameters of `shopca_rs.SHOPCA`.

    Returns
    -------
    AnnData or None
        The copy, if `copy`. The results are ``obsm["X_shopca"]``, ``varm["shopca_loadings"]`` (one row per
        gene; zeros for genes that were left out) and ``uns["shopca"]``: the parameters, eigenvalues,
        variance, variance_ratio, n_neighbors, alpha, lambda and eigengap.

    Examples
    --------
    >>> import scanpy as sc                                              # doctest: +SKIP
    >>> from shopca_rs.integrations import anndata as shopca_anndata     # doctest: +SKIP
    >>> cells = sc.datasets.pbmc68k_reduced()                            # doctest: +SKIP
    >>> shopca_anndata.shopca(cells)                                     # doctest: +SKIP
    >>> sc.pl.embedding(cells, "shopca", color="bulk_labels")            # doctest: +SKIP
    """
    adata, model = _fit(
        adata, SHOPCA(n_components, **parameters), layer, use_highly_variable, key_added, copy
    )
    adata.uns[key_added] |= {
        "alpha": float(model.alpha_),
        "lambda": float(model.lambda_),
        "eigengap": float(model.eigengaps_.max()),
    }
    return adata if copy else None


def lpp(
    adata: Any,
    n_components: int = 2,
    *,
    layer: str | None = None,
    use_highly_variable: bool | None = None,
    key_added: str = "lpp",
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Fit locality preserving projections to the cells and store embedding, loadings and spectrum.

    Parameters
    ----------
    adata, n_components, layer, use_highly_variable, key_added, copy
        As in `shopca`.
    **parameters
        Other parameters of `shopca_rs.LPP`.

    Returns
    -------
    AnnData or None
        As in `shopca`, without alpha, lambda and eigengap.

    Examples
    --------
    >>> shopca_anndata.lpp(cells, n_components=5)        # doctest: +SKIP
    """
    adata, _ = _fit(adata, LPP(n_components, **parameters), layer, use_highly_variable, key_added, copy)
    return adata if copy else None


def curvature(
    adata: Any, *, use_rep: str = "X_pca", key_added: str = "curvature", copy: bool = False, **options: Any
) -> Any:
    """Estimate the curvature of the surface that the cells lie on.

    Parameters
    ----------
    adata : AnnData
        Cells as rows.
    use_rep : str, default="X_pca"
        The entry of `obsm` whose rows are the points; "X" for `X`.
    key_added : str, default="curvature"
        Prefix of the names under which results are stored.
    copy : bool, default=False
        Return a modified copy instead of changing `adata`.
    **options
        Options of `shopca_rs.curvatures`.

    Returns
    -------
    AnnData or None
        The copy, if `copy`. The results are ``obs["curvature_mean"]``, ``obs["curvature_scalar"]``,
        ``obs["curvature_standard_error"]``, ``obs["curvature_valid"]`` (False where no fit was possible: the
        numbers are NaN) and ``uns["curvature"]``: intrinsic_dim, n_neighbors and use_rep.

    Examples
    --------
    >>> shopca_anndata.curvature(cells, intrinsic_dim=2)     # doctest: +SKIP
    """
    adata = _own(adata, copy)
    bent = curvatures(_points(adata, use_rep), **options)
    for name in ("mean", "scalar", "standard_error", "valid"):
        adata.obs[f"{as_text(key_added, 'key_added')}_{name}"] = getattr(bent, name)
    adata.uns[key_added] = {
        "use_rep": use_rep,
        "intrinsic_dim": int(bent.intrinsic_dim),
        "n_neighbors": int(bent.n_neighbors),
    }
    return adata if copy else None


def quality(
    adata: Any, basis: str = "X_shopca", *, use_rep: str = "X_pca", copy: bool = False, **options: Any
) -> Any:
    """Measure how well an embedding preserves the neighbours of the cells.

    Parameters
    ----------
    adata : AnnData
        Cells as rows.
    basis : str, default="X_shopca"
        The entry of `obsm` that is the embedding.
    use_rep : str, default="X_pca"
        The entry of `obsm` whose neighbours it should preserve; "X" for `X`.
    copy : bool, default=False
        Return a modified copy instead of changing `adata`.
    **options
        Options of `shopca_rs.quality`.

    Returns
    -------
    AnnData or None
        The copy, if `copy`. The results are in ``uns["quality"][basis]``: trustworthiness, continuity, auc,
        n_neighbors and use_rep.

    Examples
    --------
    >>> shopca_anndata.quality(cells, "X_umap")              # doctest: +SKIP
    """
    adata = _own(adata, copy)
    found = embedding_quality(_points(adata, use_rep), _points(adata, basis), **options)
    adata.uns.setdefault("quality", {})[basis] = {
        "use_rep": use_rep,
        "n_neighbors": int(found.n_neighbors),
        "trustworthiness": float(found.trustworthiness),
        "continuity": float(found.continuity),
        "auc": float(found.auc),
    }
    return adata if copy else None


def _fit(
    adata: Any, model: LinearProjection, layer: str | None, highly_variable: bool | None, key: str, copy: bool
) -> tuple[Any, Any]:
    """Fit the model to the wanted genes and store what all models have."""
    adata, key = _own(adata, copy), as_text(key, "key_added")
    genes = _genes(adata, highly_variable)
    X = _table(adata, layer)
    X = X if genes.all() else X[:, genes]
    Z = model.fit_transform(X)
    loadings = np.zeros((len(genes), Z.shape[1]))
    loadings[genes] = model.components_.T
    adata.obsm[f"X_{key}"] = Z
    adata.varm[f"{key}_loadings"] = loadings
    given = {
        name: value for name, value in model.get_params().items() if isinstance(value, int | float | str)
    }
    adata.uns[key] = {
        "params": {**given, "layer": layer or "X", "use_highly_variable": bool(not genes.all())},
        "eigenvalues": np.real(model.eigenvalues_),
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "n_neighbors": model.n_neighbors_,
    }
    return adata, model


def _own(adata: Any, copy: bool) -> Any:
    if not all(hasattr(adata, name) for name in ("obsm", "varm", "uns", "layers", "var", "obs")):
        raise TypeError(f"adata must be an AnnData object, got {shown(adata)}.")
    return adata.copy() if as_flag(copy, "copy") else adata


def _genes(adata: Any, highly_variable: bool | None) -> Any:
    there = "highly_variable" in adata.var
    wanted = there if highly_variable is None else as_flag(highly_variable, "use_highly_variable")
    if wanted and not there:
        raise ValueError(
            'use_highly_variable=True needs the column var["highly_variable"]. Run '
            "scanpy.pp.highly_variable_genes first, or give False."
        )
    genes = np.asarray(adata.var["highly_variable"], bool) if wanted else np.ones(adata.n_vars, bool)
    if not genes.any():
        raise ValueError('var["highly_variable"] must mark at least one gene, got none.')
    return genes


def _table(adata: Any, layer: str | None) -> Any:
    if layer is None:
        return adata.X
    if layer not in adata.layers:
        raise ValueError(f"layer must be one of {_listed(adata.layers)}, got {shown(layer)}.")
    return adata.layers[layer]


def _points(adata: Any, use_rep: str) -> Any:
    if use_rep == "X":
        return adata.X.toarray() if issparse(adata.X) else adata.X
    if use_rep not in adata.obsm:
        raise ValueError(
            f'The points must be "X" or an entry of obsm ({_listed(adata.obsm)}), got {shown(use_rep)}.'
        )
    return np.asarray(adata.obsm[use_rep])


def _listed(mapping: Any) -> str:
    return ", ".join(f'"{name}"' for name in mapping) or "none"
