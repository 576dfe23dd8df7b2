"""SHOPCA on dask: more rows than one machine has memory for.

``pip install "shopca-rs[dask]"``. `SHOPCA` and `mean_shape_operator` take dask arrays and dataframes and give
the results of their namesakes in `shopca_rs`: the neighbours are exact over all rows, never within a chunk.
"""

from .estimator import SHOPCA
from .files import from_npy
from .operators import mean_shape_operator

__all__ = ["SHOPCA", "from_npy", "mean_shape_operator"]
