"""The order of the examples in the gallery: from first steps to special cases, then any others by name."""

from __future__ import annotations

ORDER = [
    "first_embedding",
    "digits",
    "wine_loadings",
    "choosing_k_and_alpha",
    "quality",
    "stability",
    "reconstruction",
    "lpp_resolution",
    "shopca_gains",
    "shopca_fails",
    "outliers",
    "torus_curvature",
    "second_fundamental_form",
    "intrinsic_dimension",
    "how_it_works",
    "parameters",
]


def position(filename: str) -> tuple[int, str]:
    """Return what to sort an example by."""
    name = filename.removeprefix("plot_").removesuffix(".py")
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)
