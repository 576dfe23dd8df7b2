"""Names, order, colours and markers of classes, the same in every plot and page."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arguments import MOST_CLASSES, as_array

# The colour-blind safe palette of Okabe and Ito, without its yellow, which is hard to see on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
# Names of markers in matplotlib and in plotly. The colours repeat with the next marker.
MARKERS = [("o", "circle"), ("^", "triangle-up"), ("s", "square")]
MISSING_COLOR = "#BBBBBB"
MISSING = "missing"

# Characters of a name that a legend shows.
_LONGEST = 30
# Whole numbers from here on are written as floats: not all of their digits are known.
_EXACT = 1e15


class Classes(NamedTuple):
    """Result of `as_classes`.

    Attributes
    ----------
    names : list of str
        The classes in natural order: 2 before 10, "a2" before "a10".
    codes : ndarray of shape (n,)
        For each row the place of its class among the names; -1 where the label is missing.
    """

    names: list[str]
    codes: NDArray[np.intp]


class ClassStyle(NamedTuple):
    """How one class is drawn.

    Attributes
    ----------
    color : str
        As #RRGGBB.
    marker : str
        The marker's name in matplotlib.
    symbol : str
        The marker's name in plotly.
    """

    color: str
    marker: str
    symbol: str


def class_style(code: int) -> ClassStyle:
    """Return the colour and the marker of a class; those of a missing label for -1."""
    if code < 0:
        return ClassStyle(MISSING_COLOR, *MARKERS[0])
    return ClassStyle(PALETTE[code % len(PALETTE)], *MARKERS[code // len(PALETTE) % len(MARKERS)])


def as_classes(y: Any) -> Classes:
    """Return labels of any kind as classes.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, 1)
        Text, numbers, booleans, dates or other objects. None, NaN, NaT, pandas.NA, masked entries and blank
        text count as missing.

    Returns
    -------
    Classes
        Names in natural order, and for each row the place of its class among them.

    Examples
    --------
    >>> names, codes = as_classes(["a10", "a2", None, "a2"])
    >>> names, codes.tolist()
    (['a2', 'a10'], [1, 0, -1, 0])
    """
    labels = _as_entries(y)
    numbers = _as_numbers(labels)
    return _text_classes(labels) if numbers is None else _number_classes(numbers)


def as_colors(y: Any, n: int) -> Classes | NDArray[np.float64]:
    """Return what colours n rows: classes, or numbers for a scale, NaN where one is missing.

    Numbers are classes if they are integers with at most 20 distinct values.
    """
    labels = _as_entries(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one entry for each of the {n} rows of X, got shape {labels.shape}.")
    numbers = _as_numbers(labels)
    if numbers is None:
        return _text_classes(labels)
    told = np.unique(numbers[~np.isnan(numbers)])
    whole = np.isfinite(told).all() and (told == np.round(told)).all()
    if len(told) <= MOST_CLASSES and whole:
        return _number_classes(numbers)
    return numbers.astype(np.float64)


def short_name(name: str) -> str:
    """Return a name as a legend shows it: on one line, not too long, of characters that can be drawn."""
    text = " ".join("".join(c if c.isprintable() else " " for c in name).split()) or repr(name)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _as_entries(y: Any) -> NDArray[Any]:
    if isinstance(y, np.ma.MaskedArray):
        mask, y = np.ma.getmaskarray(y), y.data.astype(object)
        y[mask] = None
    elif isinstance(y, list | tuple):
        # NumPy would turn NaN and None among text into strings.
        try:
            y = np.array(y, dtype=object)
        except ValueError as error:
            raise ValueError(f"y must be a list of labels or numbers: {str(error).rstrip('.')}.") from None
    labels = as_array(y, "y", "a list of labels or numbers")
    return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels


def _as_numbers(labels: NDArray[Any]) -> NDArray[Any] | None:
    """Return labels that are numbers as such, NaN where one is missing; None for other labels."""
    if labels.dtype.kind in "iuf":
        return labels
    if labels.dtype.kind != "O":
        return None
    entries = [np.nan if _is_missing(entry) else entry for entry in labels.flat]
    if not any(entry == entry for entry in entries) or not all(_is_number(entry) for entry in entries):
        return None
    try:
        return np.array([float(entry) for entry in entries])
    except (OverflowError, ValueError, TypeError):
        return None


def _is_number(entry: Any) -> bool:
    return isinstance(entry, Real) and not isinstance(entry, bool | np.bool_)


def _is_missing(entry: Any) -> bool:
    if entry is None or isinstance(entry, str | bytes):
        return not (entry and entry.strip())
    try:
        return bool(entry != entry)
    # The truth value of pandas.NA != pandas.NA is undefined; other objects may raise anything.
    except Exception:
        return type(entry).__name__ == "NAType"


def _number_classes(numbers: NDArray[Any]) -> Classes:
    missing = np.isnan(numbers)
    values, codes = np.unique(numbers[~missing], return_inverse=True)
    return Classes([_number_name(value) for value in values.tolist()], _spread(codes, missing))


def _number_name(value: float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return str(value)


def _text_classes(labels: NDArray[Any]) -> Classes:
    """Return classes of labels by their text."""
    if labels.dtype.kind == "U":
        texts, missing = labels, np.char.strip(labels) == ""
    else:
        missing = np.array([_is_missing(entry) for entry in labels.flat], dtype=bool).reshape(labels.shape)
        texts = np.array([_text(entry) for entry in labels.flat], dtype=object).reshape(labels.shape)
    found, codes = np.unique(texts[~missing], return_inverse=True)
    names = [str(name) for name in found]
    order = natural_order(names)
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return Classes([names[j] for j in order], _spread(places[codes], missing))


def _spread(codes: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.intp]:
    every = np.full(missing.shape, -1, dtype=np.intp)
    every[~missing] = codes
    return every


def _text(entry: Any) -> str:
    try:
        return entry.decode("utf-8", "backslashreplace") if isinstance(entry, bytes) else str(entry)
    except Exception:
        return type(entry).__name__


def natural_order(names: list[str]) -> list[int]:
    """Return the places of names in natural order: by value if all are numbers, digits as numbers if not."""
    try:
        values = [float(name) for name in names]
    except ValueError:
        values = []
    if values and np.isfinite(values).all():
        return sorted(range(len(names)), key=lambda j: (values[j], names[j]))
    return sorted(range(len(names)), key=lambda j: _natural_key(names[j]))


def _natural_key(name: str) -> tuple[Any, ...]:
    parts: list[tuple[Any, ...]] = []
    for part in re.split(r"([0-9]+)", name):
        if part.isdecimal():
            digits = part.lstrip("0")
            # Longer numbers are larger, and an integer of thousands of digits is never made.
            parts.append((0, len(digits), digits))
        elif part:
            parts.append((1, part))
    return (parts, name)
