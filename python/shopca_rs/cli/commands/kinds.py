"""Parsers for the values of options."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError

from ..tables.numerals import DECIMALS, THOUSANDS
from ..tables.table import as_sign
from ..tables.text_format import as_separator


def as_components(text: str) -> int | float | None:
    """Return a number of components, a fraction of the variance between 0 and 1, or None for "all".

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    number : int, float or None
        What `SHOPCA` takes for `n_components`.
    """
    if text.lower() == "all":
        return None
    expected = "all, a whole number from 1, or a fraction of the variance between 0 and 1"
    number = _number(text, expected)
    if number >= 1 and number == int(number) and "." not in text:
        return int(number)
    if 0 < number < 1:
        return number
    raise ArgumentTypeError(f"must be {expected}, got {text}")


def as_alpha(text: str) -> float | str:
    """Return "auto" or a number from 0 to infinity.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    alpha : float or str
        What `SHOPCA` takes for `alpha`.
    """
    if text == "auto":
        return text
    alpha = _number(text, "auto, inf or a number from 0", infinite=True)
    if alpha < 0:
        raise ArgumentTypeError(f"must be auto, inf or a number from 0, got {text}")
    return alpha


def as_max_features(text: str) -> int | None:
    """Return a number of features from 1, or None for "none".

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    most : int or None
        What `SHOPCA` takes for `max_features`.
    """
    return None if text.lower() == "none" else _whole(text, 1, "none or a whole number from 1")


def as_sample_size(text: str) -> int:
    """Return a number of rows from 2.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    count : int
        What `SHOPCA` takes for `sample`.
    """
    return _whole(text, 2, "a whole number from 2")


def as_neighbors(text: str) -> int | str:
    """Return a number of neighbours from 2, or one of the estimator's rules for it.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    k : int or str
        What `SHOPCA` takes for `n_neighbors`.
    """
    return text if text in ("log2", "log") else _whole(text, 2, "log2, log or a whole number from 2")


def as_auto_or_count(text: str) -> int | str:
    """Return "auto" or a whole number from 1.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    number : int or str
        What `curvatures` takes for its parameters.
    """
    return text if text == "auto" else _whole(text, 1, "auto or a whole number from 1")


def as_jobs(text: str) -> int:
    """Return a number of threads: positive, or -1 for all cores, -2 for all but one, and so on.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    jobs : int
        The parsed value.
    """
    jobs = _whole(text, None, "a whole number other than 0")
    if jobs == 0:
        raise ArgumentTypeError("must be a whole number other than 0, got 0")
    return jobs


def as_separator_sign(text: str) -> str:
    """Return the separator of a text table.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    sign : str
        The parsed value.
    """
    try:
        return as_separator(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def as_decimal_sign(text: str) -> str | None:
    """Return the decimal sign of numbers written as text.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    sign : str or None
        The parsed value.
    """
    return _sign(text, "decimal", DECIMALS)


def as_thousands_sign(text: str) -> str | None:
    """Return the thousands separator of numbers written as text.

    Parameters
    ----------
    text : str
        As given.

    Returns
    -------
    sign : str or None
        The parsed value.
    """
    return _sign(text, "thousands", THOUSANDS)


def _sign(text: str, what: str, names: dict[str, str]) -> str | None:
    try:
        return as_sign(text, what, names)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _whole(text: str, low: int | None, expected: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ArgumentTypeError(f"must be {expected}, got {text!r}") from None
    if low is not None and number < low:
        raise ArgumentTypeError(f"must be {expected}, got {text}")
    return number


def _number(text: str, expected: str, *, infinite: bool = False) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ArgumentTypeError(f"must be {expected}, got {text!r}") from None
    if math.isnan(number) or (math.isinf(number) and not infinite):
        raise ArgumentTypeError(f"must be {expected}, got {text}")
    return number
