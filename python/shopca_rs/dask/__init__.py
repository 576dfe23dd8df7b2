"""SHOPCA, LPP, curvature and the quality of embeddings on dask, for data larger than memory.

``pip install "shopca-rs[dask]"``. All functions take dask arrays and dataframes and give the results of their
namesakes in `shopca_rs`: the neighbours are exact over all rows, never within a chunk.
"""

from .embedding_quality import continuity, quality, trustworthiness
from .estimator import SHOPCA
from .files import from_npy
from .geometry import curvatures, intrinsic_dimension, second_fundamental_form
from .lpp import LPP
from .operators import mean_shape_operator

__all__ = [
    "LPP",
    "SHOPCA",
    "continuity",
    "curvatures",
    "from_npy",
    "intrinsic_dimension",
    "mean_shape_operator",
    "quality",
    "second_fundamental_form",
    "trustworthiness",
]
