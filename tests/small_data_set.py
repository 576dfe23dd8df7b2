"""A small data set that is in no catalogue, for the tests of its sources."""

from __future__ import annotations

import numpy as np
from shopca_rs.experiments.catalogue import DataSet


def small(**changes):
    """A data set of 6 × 2 in 3 classes that no source brings along."""
    return DataSet(**{"name": "small", "n": 6, "d": 2, "classes": 3, "tables": (1,), "version": 1} | changes)


def rows(n=6):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return {"X": X, "y": np.arange(n) % 3}


def in_folder(folder, name="small", **arrays):
    np.savez(folder / f"{name}.npz", **(arrays or rows()))
    return folder
