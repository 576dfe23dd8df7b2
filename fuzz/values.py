"""Values nobody should pass: of wrong kinds, shapes and sizes."""

from __future__ import annotations

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import scipy.sparse

from .clouds import choose


class Strange:
    """An object with nothing in it, whatever it is made of."""

    def __init__(self, *arguments):
        pass

    def __repr__(self):
        return "Strange()"


class Raising:
    """An object that answers every question with an exception of its own."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("There is no array here.")

    def __index__(self):
        raise TypeError("There is no index here.")

    def __len__(self):
        raise TypeError("There is no length here.")


def wrong_value(rng, valid):
    """Return a few words and a value, unrelated to the valid one or made from it."""
    if valid is not None and rng.random() < 0.5:
        name, change = choose(rng, *CHANGES.items())
        try:
            with np.errstate(all="ignore"):
                value = change(rng, np.array(valid))
        except (ValueError, TypeError, LookupError, OverflowError, MemoryError):
            pass
        else:
            return f"valid {name}", value
    name, make = choose(rng, *MAKERS.items())
    return name, make()


def _with(entry):
    def change(rng, table):
        table = table.astype(object if isinstance(entry, str | type(None) | complex) else float)
        if isinstance(entry, complex):
            table = table.astype(complex)
        table[tuple(rng.integers(0, size) for size in table.shape)] = entry
        return table

    return change


def _ragged(rng, table):
    rows = table.tolist()
    rows[0] = rows[0][:-1]
    return rows


CHANGES = {
    "as list": lambda rng, table: table.tolist(),
    "as float32": lambda rng, table: table.astype(np.float32),
    "as int8": lambda rng, table: table.astype(np.int8),
    "as complex": lambda rng, table: table.astype(complex),
    "as text": lambda rng, table: table.astype(str),
    "as bytes": lambda rng, table: table.astype("S"),
    "as objects": lambda rng, table: table.astype(object),
    "as bool": lambda rng, table: table.astype(bool),
    "as dates": lambda rng, table: table.astype(np.int64).astype("M8[D]"),
    "as durations": lambda rng, table: table.astype(np.int64).astype("m8[s]"),
    "as DataFrame": lambda rng, table: pd.DataFrame(table),
    "as Series": lambda rng, table: pd.Series(table.ravel()),
    "as sparse": lambda rng, table: scipy.sparse.csr_matrix(table),
    "as masked": lambda rng, table: np.ma.array(table, mask=rng.random(table.shape) < 0.1),
    "as matrix": lambda rng, table: table.view(np.matrix),
    "as generator": lambda rng, table: (row for row in table),
    "transposed": lambda rng, table: table.T,
    "flat": lambda rng, table: table.ravel(),
    "one deeper": lambda rng, table: table[None],
    "of no rows": lambda rng, table: table[:0],
    "of no columns": lambda rng, table: table[:, :0],
    "of one row": lambda rng, table: table[:1],
    "of two rows": lambda rng, table: table[:2],
    "of one column": lambda rng, table: table[:, :1],
    "without the last row": lambda rng, table: table[:-1],
    "without the last column": lambda rng, table: table[:, :-1],
    "repeated": lambda rng, table: np.concatenate([table, table]),
    "ragged": _ragged,
    "zero": lambda rng, table: table * 0,
    "negative": lambda rng, table: -table,
    "times 1e200": lambda rng, table: table * 1e200,
    "times 1e150": lambda rng, table: table * 1e150,
    "times 1e-150": lambda rng, table: table * 1e-150,
    "times 1e-200": lambda rng, table: table * 1e-200,
    "times 1e-320": lambda rng, table: table * 1e-320,
    "plus 1e15": lambda rng, table: table + 1e15,
    "with NaN": _with(np.nan),
    "with inf": _with(np.inf),
    "with -inf": _with(-np.inf),
    "with 1e308": _with(1e308),
    "with 1e160": _with(1e160),
    "with None": _with(None),
    "with text": _with("a"),
    "with a complex number": _with(1j),
    "halved": lambda rng, table: table / 2,
    "plus one": lambda rng, table: table + 1,
}

MAKERS = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "1": lambda: 1,
    "2": lambda: 2,
    "3": lambda: 3,
    "-1": lambda: -1,
    "7": lambda: 7,
    "1000": lambda: 1000,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "-2**63": lambda: -(2**63),
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "np.int8(3)": lambda: np.int8(3),
    "np.uint64(2**64 - 1)": lambda: np.uint64(2**64 - 1),
    "np.bool_": lambda: np.True_,
    "0.0": lambda: 0.0,
    "-0.0": lambda: -0.0,
    "0.5": lambda: 0.5,
    "1.0": lambda: 1.0,
    "2.0": lambda: 2.0,
    "-1.5": lambda: -1.5,
    "1e308": lambda: 1e308,
    "1e-320": lambda: 1e-320,
    "1e18": lambda: 1e18,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1j": lambda: 1j,
    "np.float32(0.5)": lambda: np.float32(0.5),
    "np.longdouble(1e400)": lambda: np.longdouble(2) ** 4000,
    "Decimal": lambda: decimal.Decimal("0.5"),
    "Decimal nan": lambda: decimal.Decimal("nan"),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "empty text": lambda: "",
    "text": lambda: "abc",
    "'auto'": lambda: "auto",
    "'log2'": lambda: "log2",
    "'5'": lambda: "5",
    "long text": lambda: "x" * 5000,
    "text with NUL": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"abc"),
    "date": lambda: datetime.date(2024, 1, 1),
    "duration": lambda: datetime.timedelta(1),
    "np.datetime64": lambda: np.datetime64("2024-01-01"),
    "NaT": lambda: np.datetime64("NaT"),
    "pd.NA": lambda: pd.NA,
    "object": Strange,
    "raising object": Raising,
    "type": lambda: Strange,
    "lambda": lambda: lambda *a: 1,
    "module": lambda: np,
    "generator": lambda: (i for i in range(3)),
    "iterator": lambda: iter([[1.0, 2.0]]),
    "range": lambda: range(5),
    "set": lambda: {1, 2},
    "dict": lambda: {"a": 1},
    "empty list": list,
    "empty tuple": tuple,
    "empty dict": dict,
    "[[]]": lambda: [[]],
    "[None]": lambda: [None],
    "[[None, 1]]": lambda: [[None, 1]],
    "['a']": lambda: ["a"],
    "[1, 'a']": lambda: [1, "a"],
    "[10**400]": lambda: [10**400],
    "[[10**400] * 4] * 9": lambda: [[10**400] * 4] * 9,
    "[[1], [1, 2]]": lambda: [[1], [1, 2]],
    "[-1]": lambda: [-1],
    "[nan]": lambda: [float("nan")],
    "[inf, inf]": lambda: [float("inf")] * 2,
    "[2**63]": lambda: [2**63],
    "[True]": lambda: [True],
    "[0]": lambda: [0],
    "[1e308] * 3": lambda: [1e308] * 3,
    "[1e-320] * 3": lambda: [1e-320] * 3,
    "nested": lambda: [[[[1.0]]]],
    "0-d": lambda: np.array(1.0),
    "0-d object": lambda: np.array(None),
    "empty array": lambda: np.zeros((0, 4)),
    "no columns": lambda: np.zeros((5, 0)),
    "3-d": lambda: np.zeros((2, 3, 4)),
    "structured": lambda: np.zeros(3, dtype=[("a", float), ("b", int)]),
    "void": lambda: np.zeros(3, dtype="V8"),
    "5-d": lambda: np.zeros((1,) * 5),
    "constant": lambda: np.ones((30, 4)),
    "huge view": lambda: np.broadcast_to(np.float64(1), (2**28, 4)),
    "huge row view": lambda: np.broadcast_to(np.float64(1), (4, 2**28)),
    "strings": lambda: np.array(["a"] * 30),
    "labels with None": lambda: np.array(["a", None] * 15, dtype=object),
    "labels of mixed kinds": lambda: np.array(["a", 1, 2.5] * 10, dtype=object),
    "floats": lambda: np.linspace(0, 1, 30),
    "floats with NaN": lambda: np.r_[np.nan, np.linspace(0, 1, 29)],
    "floats with inf": lambda: np.r_[np.inf, np.linspace(0, 1, 29)],
    "indices": lambda: np.arange(30),
    "negative indices": lambda: -np.arange(30),
    "uint64 indices": lambda: np.arange(30, dtype=np.uint64) + np.uint64(2**63),
    "neighbours": lambda: np.zeros((30, 5), dtype=int),
    "neighbours out of range": lambda: np.full((30, 5), 30),
}
