"""Values that a caller may pass by mistake, wherever something else is expected."""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
import traceback
import warnings

import numpy as np
import pandas as pd
import scipy.sparse
from nasty import continuous


class Unshowable:
    """Nothing can be said of it."""

    def __repr__(self):
        raise RuntimeError("no text")


class Silent:
    """A table that cannot be read."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("no array")


TABLE = continuous(30, 4)
NUMBERS = {
    "zero": 0,
    "minus one": -1,
    "a fraction": 1.5,
    "nan": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "huge": 10**400,
    "hugely negative": -(10**400),
    "without a text": 10**5000,
    "the largest float": 1.7e308,
    "the smallest float": 5e-324,
    "complex": 1 + 1j,
    "numpy complex": np.complex128(1j),
    "true": True,
    "numpy false": np.False_,
    "decimal": decimal.Decimal("0.5"),
    "fraction": fractions.Fraction(1, 3),
    "0-d float": np.array(3.0),
    "0-d int": np.array(3),
    "0-d object": np.array(None),
}
THINGS = {
    "none": None,
    "text": "text",
    "no text": "",
    "half a character": "\ud800",
    "module": np,
    "a number as text": "5",
    "bytes": b"bytes",
    "path": pathlib.Path("somewhere"),
    "dictionary": {"a": 1},
    "set": {1, 2},
    "function": lambda *_: None,
    "class": int,
    "object": object(),
    "ellipsis": ...,
    "slice": slice(3),
    "range": range(3),
    "iterator": iter([1, 2]),
    "unshowable": Unshowable(),
    "unreadable": Silent(),
    "pandas NA": pd.NA,
    "pandas NaT": pd.NaT,
    "timestamp": pd.Timestamp("2020-01-01"),
    "date": datetime.date(2020, 1, 1),
    "duration": datetime.timedelta(1),
    "numpy date": np.datetime64("2020-01-01"),
    "random generator": np.random.default_rng(0),
}
LISTS = {
    "empty list": [],
    "list of an empty list": [[]],
    "numbers": [1, 2],
    "one number": (1,),
    "negative numbers": [-1.0, -2.0],
    "ragged": [[1.0, 2.0], [3.0]],
    "texts": ["a", "b"],
    "nothings": [None, None],
    "huge numbers": [10**400, 1],
    "table of huge numbers": [[10**400] * 4] * 30,
    "no rows": np.empty((0, 4)),
    "no columns": np.empty((30, 0)),
    "three axes": np.zeros((2, 2, 2)),
    "a line": TABLE[:, 0],
    "transposed": TABLE.T,
    "a square": np.eye(3),
    "square of nan": np.full((4, 4), np.nan),
    "square of the largest float": np.full((4, 4), 1.7e308),
    "nan": np.where(TABLE > 1, np.nan, TABLE),
    "inf": np.where(TABLE > 1, np.inf, TABLE),
    "the largest floats": np.sign(TABLE) * 1.7e308,
    "the smallest floats": np.sign(TABLE) * 5e-324,
    "complex numbers": TABLE + 1j,
    "truth values": TABLE > 0,
    "words": np.full((30, 4), "word"),
    "byte strings": np.full((30, 4), b"word"),
    "dates": np.arange(120).reshape(30, 4).astype("M8[s]"),
    "durations": np.arange(120).reshape(30, 4).astype("m8[s]"),
    "records": np.zeros(30, dtype=[("a", float), ("b", int)]),
    "objects": np.array([[object()] * 4] * 30),
    "masked": np.ma.masked_array(TABLE, mask=TABLE > 1),
    "sparse": scipy.sparse.csr_matrix(TABLE),
    "frame of words": pd.DataFrame({"a": list("abc") * 10, "b": range(30)}),
    "frame of dates": pd.DataFrame({"a": pd.date_range("2020-01-01", periods=30), "b": range(30)}),
    "frame with NA": pd.DataFrame({"a": pd.array([1, None, 3] * 10, "Int64"), "b": range(30)}),
    "series": pd.Series(range(3)),
    "categories": pd.Categorical(list("abc")),
}
EVERYTHING = NUMBERS | THINGS | LISTS


def complaint(function, **arguments):
    """Say what is wrong with how a call ends; nothing if it returns or refuses in a sentence of its own."""
    try:
        with warnings.catch_warnings():
            # Ours and scikit-learn's: constant data, names of features. Others are NumPy's and errors here.
            warnings.simplefilter("ignore", UserWarning)
            function(**arguments)
    except (ValueError, TypeError) as error:
        origin = traceback.extract_tb(error.__traceback__)[-1].filename
        ours, scikit_learn = "/shopca_rs/" in origin, "/sklearn/" in origin
        if not ours and not scikit_learn:
            return f"{type(error).__name__} from {origin}: {error}"
        if ours and not str(error).endswith("."):
            return f"no sentence: {error}"
        if ours and len(str(error)) > 500:
            return f"too long: {str(error)[:80]}…"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
