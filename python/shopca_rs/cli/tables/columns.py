"""What every reader returns: the columns of a file, and labels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# Digits with leading zeros are identifiers.
_NUMBER = re.compile(r"[-+]?(?!0[0-9])([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Attributes
    ----------
    name : str
        What it is called.
    kind : {"numbers", "text", "dates", "other"}
        What it holds.
    values : ndarray of shape (n,)
        For "numbers" float64 with NaN where missing; for "text" str or None; for the others anything.
    """

    name: str
    kind: Literal["numbers", "text", "dates", "other"]
    values: NDArray[Any]


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes
    ----------
    columns : list of Column
        All columns except the labels.
    n_rows : int
        How many rows each of them has.
    labels : ndarray of shape (n_rows,) or None
        Numbers, or text with "" where it is missing.
    notes : list of str
        Decisions of the reader, in sentences.
    """

    columns: list[Column]
    n_rows: int
    labels: NDArray[Any] | None
    notes: list[str] = field(default_factory=list)


def as_column(name: str, series: Any) -> Column:
    """Convert a pandas Series to a column of one of the kinds.

    Parameters
    ----------
    name : str
        What it is called.
    series : pandas.Series
        What it holds.

    Returns
    -------
    column : Column
        The column.
    """
    from pandas.api.types import (  # type: ignore[import-untyped]
        infer_dtype,
        is_complex_dtype,
        is_datetime64_any_dtype,
        is_numeric_dtype,
        is_timedelta64_dtype,
    )

    if series.dtype == "category":
        series = series.astype(object)
    if is_numeric_dtype(series.dtype) and not is_complex_dtype(series.dtype):
        return Column(name, "numbers", series.to_numpy(np.float64, na_value=np.nan))
    held = infer_dtype(series, skipna=True)
    if held in ("integer", "floating", "decimal", "mixed-integer-float", "empty"):
        try:
            numbers = series.astype(object).where(series.notna(), np.nan).to_numpy(np.float64)
        except OverflowError:
            # Python integers are unbounded: those beyond float64 are reported when the text is read.
            return Column(name, "text", as_text(series))
        return Column(name, "numbers", numbers)
    if held in ("string", "boolean", "mixed-integer"):
        return Column(name, "text", as_text(series))
    dates = is_datetime64_any_dtype(series.dtype) or is_timedelta64_dtype(series.dtype)
    kind: Literal["dates", "other"] = "dates" if dates or held in ("date", "datetime", "time") else "other"
    return Column(name, kind, series.astype(object).to_numpy())


def as_text(series: Any) -> NDArray[Any]:
    """Return the cells of a pandas Series as text.

    Parameters
    ----------
    series : pandas.Series
        Of anything.

    Returns
    -------
    text : ndarray of object
        Each cell as str without spaces around it, None where it is missing.
    """
    held, absent = series.to_numpy(object), series.isna().to_numpy()
    cells = np.array([str(cell).strip() or None for cell in held.tolist()], dtype=object)
    cells[absent] = None
    return cells


def as_labels(text: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers if all of them are numbers without leading zeros, else as text.

    Parameters
    ----------
    text : ndarray of object
        str, or None where one is missing.

    Returns
    -------
    labels : ndarray
        Of int64, of float64 with NaN where one is missing, or of str with "" there.
    """
    told = [cell for cell in text if cell is not None]
    if told and all(_NUMBER.fullmatch(cell) for cell in told):
        try:
            if len(told) == len(text) and all(str(int(cell)) == cell for cell in told):
                return np.array([int(cell) for cell in told], dtype=np.int64)
        except (ValueError, OverflowError):
            pass
        numbers = np.array([np.nan if cell is None else float(cell) for cell in text])
        # Distinct labels beyond float64 would all become infinity.
        if not np.isinf(numbers).any():
            return numbers
    return np.array([cell or "" for cell in text], dtype=object)


def whole(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return whole numbers as integers, others as they are.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        Labels.

    Returns
    -------
    numbers : ndarray of shape (n,)
        Of int64 if all of them are whole and exact.
    """
    exact = np.abs(numbers) < 2.0**53
    return numbers.astype(np.int64) if exact.all() and (numbers == np.round(numbers)).all() else numbers


def check_label(label: str | None, names: list[str], file: str) -> None:
    """Raise an error if the label is not a column.

    Parameters
    ----------
    label : str or None
        The requested column, if any.
    names : list of str
        The columns.
    file : str
        Name of the file.

    Raises
    ------
    ValueError
        With similar names.
    """
    if label is not None and label not in names:
        raise ValueError(no_column(label, names, file))


def no_column(name: str, names: list[str], file: str) -> str:
    """Return an error message that suggests existing columns.

    Parameters
    ----------
    name : str
        The requested column.
    names : list of str
        The existing columns.
    file : str
        Name of the file.

    Returns
    -------
    text : str
        Two sentences.

    Examples
    --------
    >>> no_column("specis", ["length", "species"], "iris.csv")
    'iris.csv has no column specis. Did you mean species?'
    """
    near = get_close_matches(name, names, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Its columns are {listed(names, 20)}."
    return f"{file} has no column {name}. {hint}"


def unique(names: list[str]) -> tuple[list[str], list[str]]:
    """Append a number to every repeated name.

    Parameters
    ----------
    names : list of str
        Names, possibly repeated.

    Returns
    -------
    different : list of str
        The names, all distinct.
    repeated : list of str
        The names that occur more than once.

    Examples
    --------
    >>> unique(["a", "b", "a"])
    (['a', 'b', 'a.1'], ['a'])
    """
    counts = Counter(names)
    different: dict[str, None] = {}
    numbers: Counter[str] = Counter()
    for name in names:
        fresh = name
        while fresh in different or (fresh != name and fresh in counts):
            numbers[name] += 1
            fresh = f"{name}.{numbers[name]}"
        different[fresh] = None
    return list(different), [name for name, count in counts.items() if count > 1]


def listed(names: list[str], most: int = 8) -> str:
    """Join names by commas, and abbreviate a long list.

    Parameters
    ----------
    names : list of str
        The names.
    most : int, default=8
        How many to show.

    Returns
    -------
    text : str
        The names, separated by commas.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def short(cell: str) -> str:
    """Quote a cell, shortened if it is long.

    Parameters
    ----------
    cell : str
        What it holds.

    Returns
    -------
    text : str
        At most 20 characters of it.

    Examples
    --------
    >>> short("12.5")
    "'12.5'"
    """
    return repr(cell if len(cell) <= 20 else cell[:19] + "…")
