"""Parquet, .npy and .npz → tables, and the libraries they need."""

from __future__ import annotations

import io
import sys
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shopca_rs.cli.tables import read_table
from table_checks import columns, has_note, parquet

NAN = np.nan


# Parquet


def test_parquet_columns_are_sorted_by_their_kind(tmp_path):
    path = parquet(
        {
            "number": [1.5, None, 3.0, 4.0],
            "whole": pa.array([1, 2, None, 4], pa.int64()),
            "truth": [True, False, None, True],
            "exact": [Decimal("1.5"), None, Decimal("2.5"), Decimal("3.5")],
            "levels": pa.array([3, 1, None, 2]).dictionary_encode(),
            "digits": ["1", "2", "3", "x"],
            "kind": ["a", "b", None, "a"],
            "day": [date(2020, 1, j + 1) for j in range(4)],
            "moment": pa.array(range(4), pa.timestamp("s")),
            "lists": [[1], [2, 3], [], None],
            "nothing": pa.nulls(4),
        },
        tmp_path,
    )
    table = read_table(path, missing="zero")
    assert columns(table) == {
        "number": [1.5, 0, 3, 4],
        "whole": [1, 2, 0, 4],
        "truth": [1, 0, 0, 1],
        "exact": [1.5, 0, 2.5, 3.5],
        "levels": [3, 1, 0, 2],
        "digits": [1, 2, 3, 0],
    }
    assert has_note(table, "2 columns of dates or times: day, moment")
    assert has_note(table, "1 column of text: kind (2 values)")
    assert has_note(table, "1 column of neither numbers nor text: lists")
    assert has_note(table, "without any number: nothing")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1.5, None, 2], [1.5, NAN, 2]),
        ([1.0, np.inf, 2], [1.0, np.inf, 2]),
        (["a", None, "007"], ["a", "", "007"]),
    ],
    ids=["integers", "floats", "infinite", "text"],
)
def test_parquet_labels_keep_their_kind(values, labels, tmp_path):
    table = read_table(parquet({"x": [1.0, 2, 4], "k": values}, tmp_path), label="k")
    np.testing.assert_array_equal(table.labels, np.array(labels, dtype=table.labels.dtype))
    assert table.labels.dtype.kind == np.array(labels).dtype.kind.replace("U", "O")


def test_a_pandas_index_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 4]}, index=pd.Index([7, 8, 9], name="id"))
    frame.to_parquet(tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet").names == ["x"]


# NumPy's formats


@pytest.mark.parametrize("dtype", ["f8", ">f4", "f2", "i4", "u1"])
def test_an_npy_file_is_a_table(dtype, tmp_path):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    table = read_table(tmp_path / "x.npy")
    assert np.array_equal(table.X, X.astype(float))
    assert table.X.dtype == np.float64
    assert table.names == ["column0", "column1", "column2"]


def test_an_npy_column_can_be_the_label(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1.5, 0], [2, 1], [3, 1]]))
    table = read_table(tmp_path / "x.npy", label="column1")
    assert table.names == ["column0"]
    assert table.labels.tolist() == [0, 1, 1]
    assert table.labels.dtype.kind == "i"


def test_an_npz_file_with_x_and_y_has_labels_and_names(tmp_path):
    X, other = np.eye(4)[:, :2], np.zeros((2, 2))
    np.savez(tmp_path / "x.npz", X=X, y=np.array(list("abca")), names=np.array(["u", "v"]), other=other)
    table = read_table(tmp_path / "x.npz")
    assert columns(table) == {"u": [1, 0, 0, 0], "v": [0, 1, 0, 0]}
    assert table.labels.tolist() == ["a", "b", "c", "a"]
    assert has_note(table, "y holds the labels")


def test_the_only_table_of_an_npz_file_is_taken_and_any_array_can_be_the_label(tmp_path):
    np.savez(tmp_path / "x.npz", points=np.eye(4), year=np.arange(4) + 2000)
    table = read_table(tmp_path / "x.npz", label="year")
    assert table.X.shape == (4, 4)
    assert table.labels.tolist() == [2000, 2001, 2002, 2003]


@pytest.mark.parametrize(
    ("arrays", "parts"),
    {
        "two tables": ({"a": np.eye(3), "b": np.eye(3)}, ["exactly one 2-D array", "a (3, 3), b (3, 3)"]),
        "no table": ({"a": np.arange(3)}, ["exactly one 2-D array", "a (3,)"]),
        "nothing": ({}, ["exactly one 2-D array", "got nothing"]),
        "flat X": ({"X": np.arange(3)}, ["2-D array with points as rows, got 1-D of shape (3,)"]),
        "complex": ({"X": np.eye(3) * 1j}, ["real numbers, got dtype complex128"]),
        "text": ({"X": np.array([["a"]])}, ["real numbers, got dtype <U1"]),
        "short y": ({"X": np.eye(3), "y": np.arange(2)}, ["one label for each of the 3 rows", "(2,)"]),
        "objects": ({"X": np.array([[1, "a"]], dtype=object)}, ["holds Python objects"]),
    }.values(),
)  # fmt: skip
def test_an_npz_file_without_a_table_says_what_it_holds(arrays, parts, refused):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    line = refused(buffer.getvalue(), "data.npz")
    assert all(part in line for part in parts), line


def test_a_flat_npy_file_is_refused(refused):
    buffer = io.BytesIO()
    np.save(buffer, np.arange(5.0))
    assert "must hold a 2-D array with points as rows, got 1-D of shape (5,)" in refused(
        buffer.getvalue(), "x.npy"
    )


# Libraries that are not there


@pytest.mark.parametrize(
    ("absent", "name", "needs"),
    [
        ("pandas", "data.csv", "text tables needs pandas, "),
        ("pandas", "data.parquet", ".parquet needs pandas and pyarrow"),
        ("pyarrow", "data.parquet", ".parquet needs pandas and pyarrow"),
    ],
)
def test_without_its_library_a_format_says_what_to_install(absent, name, needs, read, monkeypatch):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ImportError, match=r'pip install "shopca-rs\[cli\]"\.$') as caught:
        read("x,y\n1,2\n3,4\n5,1\n", name)
    assert needs in str(caught.value)


def test_numpy_files_need_no_other_library(run_python, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    code = """
import sys
sys.modules["pandas"] = None
from shopca_rs.cli.tables import read_table
print(read_table(sys.argv[1]).X.shape)
"""
    assert run_python(code, tmp_path / "x.npy").strip() == "(4, 4)"
