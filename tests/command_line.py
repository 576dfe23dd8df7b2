"""The command line as tests call it: fixtures, one table, one cloud."""

from __future__ import annotations

import subprocess
import sys

import nasty
import numpy as np
import pandas as pd
import pytest
import shapes
from shopca_rs.cli import main
from sklearn.preprocessing import StandardScaler

X = nasty.continuous(60, 4)
KINDS = np.array(["left", "right", "über, Ω"])[np.arange(len(X)) % 3]
SCALED = StandardScaler().fit_transform(X)
PAPER = ("curvature", "--operator", "paper")
EVERY_FORMAT = [".csv", ".tsv", ".parquet", ".npy", ".npz"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(kind=KINDS).to_csv(path, index=False)
    return path


@pytest.fixture
def call(capsys):
    """Call the command line in this process; return its exit code, output and errors."""

    def call(*arguments):
        code = main(list(map(str, arguments)))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def done(call):
    """Call the command line, which must succeed, and return its notes by kind."""

    def done(*arguments):
        code, _, err = call(*arguments)
        assert code == 0, err
        return err

    return done


@pytest.fixture
def refused(call):
    """Call the command line, which must fail, and return the one line that says why."""

    def refused(*arguments):
        code, out, err = call(*arguments)
        assert (code, out) == (2, ""), err
        lines = err.splitlines()
        assert len([line for line in lines if ": note: " not in line]) == 1, err
        assert lines[-1].startswith(f"shopca {arguments[0]}: error: ")
        return lines[-1]

    return refused


def shopca(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "shopca_rs", *map(str, arguments)], capture_output=True, timeout=120, **options
    )


def read_back(path):
    if path.suffix == ".npy":
        return pd.DataFrame(np.load(path), columns=["shopca0", "shopca1"])
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            frame = pd.DataFrame(arrays["X"], columns=arrays["names"])
            return frame.assign(kind=arrays["y"]) if "y" in arrays else frame
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    # From 3.1 on, pandas reads floats exactly by default and warns if asked to.
    old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    return pd.read_csv(
        path, sep="\t" if path.suffix == ".tsv" else ",", float_precision="round_trip" if old else None
    )


@pytest.fixture
def cloud(tmp_path):
    """A noisy torus as a table: its path and its points."""
    points = shapes.noisy(shapes.torus(600, np.random.default_rng(0)).points, 0.005, np.random.default_rng(1))
    pd.DataFrame(points, columns=list("xyz")).assign(side=np.where(points[:, 2] > 0, "up", "down")).to_csv(
        tmp_path / "cloud.csv", index=False
    )
    return tmp_path / "cloud.csv", points
