"""One cell of text → its number, given the decimal sign and thousands separator of its file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

DECIMALS = {"point": ".", "comma": ","}
THOUSANDS = {"comma": ",", "point": ".", "apostrophe": "'", "space": " ", "none": ""}

# No-break, thin and narrow no-break spaces are what spreadsheets put between thousands.
_SPACE = " \u00a0\u2009\u202f"
_APOSTROPHE = "'’"
_MINUS = r"\-−–"
_CODES = (
    "AED|AUD|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|"
    "RON|RUB|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
# All of Unicode's currency signs, dollars of a country, the ISO 4217 codes above, some abbreviations.
_CURRENCY = rf"(?:[A-Z]{{0,3}}\$|[¢-¥֏؋৲৳૱௹฿៛₠-⃀﷼﹩$¢£¥₩]|{_CODES}|kr\.?|zł|Kč|Ft|Fr\.|Rs\.?)"

_WHOLE = re.compile(
    rf"""(\()?
    ([+{_MINUS}])?[{_SPACE}]?({_CURRENCY})?[{_SPACE}]?([+{_MINUS}])?
    ([\d.,](?:[\d.,{_APOSTROPHE}{_SPACE}]*[\d.,])?(?:[eE][-+−]?\d+)?)
    [{_SPACE}]?({_CURRENCY}|[%‰])?([{_MINUS}])?
    (\))?""",
    re.VERBOSE,
)
_INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
# A cell that starts like a number is not just missing, and no median may replace it: 12_34, <0.5, 7 kg.
_LOOKS = re.compile(rf"[(<>≤≥=~≈±+{_MINUS}{_SPACE}]*+{_CURRENCY}?[{_SPACE}{_MINUS}]{{0,2}}[.,]?\d")
_SIMPLE = re.compile(r"(-?)((\d+)([.,])(\d+))")
# By the decimal sign.
_GROUPING = {".": re.compile(f"[,{_APOSTROPHE}{_SPACE}]"), ",": re.compile(f"[.{_APOSTROPHE}{_SPACE}]")}
_PARTS = {"%": "e-2", "‰": "e-3"}


@dataclass(frozen=True)
class Signs:
    """How numbers are written in a file.

    Attributes
    ----------
    decimal : {".", ","}
        The decimal sign.
    thousands : str or None
        The thousands separator: "," or "." or "'" or " ", "" for none, None for any of these except the
        decimal sign.
    """

    decimal: str
    thousands: str | None = None


class Numeral(NamedTuple):
    """A cell that is written like a number.

    Attributes
    ----------
    digits : str
        With separators and the exponent.
    negative : bool
        Whether it is below 0.
    unit : str
        A currency sign, "%" or "‰", or "".
    accounting : bool
        Whether it is marked as negative by parentheses or by a trailing minus.
    point, comma : bool
        Whether it is a number with this decimal sign and any other sign as thousands separator.
    """

    digits: str
    negative: bool
    unit: str
    accounting: bool
    point: bool
    comma: bool

    def fits(self, signs: Signs) -> bool:
        """Tell whether it is a number under these signs.

        Parameters
        ----------
        signs : Signs
            How numbers are written.

        Returns
        -------
        fits : bool
            Whether it is.
        """
        possible = self.point if signs.decimal == "." else self.comma
        return possible and (signs.thousands is None or _grammar(signs).fullmatch(self.digits) is not None)

    def value(self, signs: Signs) -> float:
        """Return the number; infinite where it is beyond float64.

        Parameters
        ----------
        signs : Signs
            Under which it fits.

        Returns
        -------
        value : float
            The nearest float.
        """
        digits = self.digits
        if not digits.isdecimal():
            digits = _GROUPING[signs.decimal].sub("", digits).replace(signs.decimal, ".").replace("−", "-")
        number = float(digits + _PARTS.get(self.unit, ""))
        return -number if self.negative else number

    def grouped(self, signs: Signs) -> bool:
        """Tell whether it has thousands separators.

        Parameters
        ----------
        signs : Signs
            Under which it fits.

        Returns
        -------
        grouped : bool
            Whether it has.
        """
        return _GROUPING[signs.decimal].search(self.digits) is not None


def parsed(cell: str) -> Numeral | None:
    """Parse a cell that is a number under some choice of signs.

    Parameters
    ----------
    cell : str
        Without spaces around it.

    Returns
    -------
    numeral : Numeral or None
        Its parts; None if it is not a number under any signs.

    Examples
    --------
    >>> parsed("-$1,234.50")
    Numeral(digits='1,234.50', negative=True, unit='$', accounting=False, point=True, comma=False)
    >>> parsed("1.2.3")
    """
    if cell.isdecimal():
        return Numeral(cell, False, "", False, True, True)
    simple = _SIMPLE.fullmatch(cell)
    if simple is not None:
        minus, digits, whole, sign, rest = simple.groups()
        group = len(rest) == 3 and len(whole) <= 3 and whole[0] != "0"
        return Numeral(digits, minus != "", "", False, sign == "." or group, sign == "," or group)
    match = _WHOLE.fullmatch(cell)
    if match is None:
        return None
    opened, sign, before, inner, digits, after, trailing, closed = match.groups()
    brackets = (opened is not None) + (closed is not None)
    signs = (sign or "") + (inner or "") + (trailing or "")
    unit = before or after or ""
    if brackets == 1 or len(signs) + (brackets == 2) > 1 or (before and after):
        return None
    if unit in _PARTS and "e" in digits.lower():
        return None
    point, comma = _POINT.fullmatch(digits) is not None, _COMMA.fullmatch(digits) is not None
    if not point and not comma:
        return None
    negative = brackets > 0 or signs not in ("", "+")
    return Numeral(digits, negative, unit, brackets > 0 or trailing is not None, point, comma)


def infinite(cell: str) -> float | None:
    """Return infinity where it is written as a word.

    Parameters
    ----------
    cell : str
        Without spaces around it.

    Returns
    -------
    value : float or None
        Infinity with its sign, or None.
    """
    return float(cell) if _INFINITE.fullmatch(cell) else None


def looks_numeric(cell: str) -> bool:
    """Tell whether a cell starts like a number.

    Parameters
    ----------
    cell : str
        Without spaces around it.

    Returns
    -------
    numeric : bool
        Whether it does.

    Examples
    --------
    >>> [looks_numeric(cell) for cell in ("12_34", "<0.5", "7 kg", "broken", "A/5 21171")]
    [True, True, True, False, False]
    """
    return _LOOKS.match(cell) is not None


@lru_cache
def _grammar(signs: Signs) -> re.Pattern[str]:
    """Return the pattern of numbers without sign and unit.

    Groups have three digits, or two before the last three as in India, and do not start with 0.
    """
    point = re.escape(signs.decimal)
    other = "," if signs.decimal == "." else "."
    between = {None: other + _APOSTROPHE + _SPACE, "'": _APOSTROPHE, " ": _SPACE}.get(
        signs.thousands, signs.thousands or ""
    )
    power = r"(?:[eE][-+−]?\d+)?"
    forms = [rf"\d+(?:{point}\d*)?{power}", rf"{point}\d+{power}"]
    if between:
        forms.append(rf"[1-9]\d{{0,2}}(?P<group>[{between}])\d{{3}}(?:(?P=group)\d{{3}})*(?:{point}\d*)?")
    if "," in between:
        forms.append(rf"[1-9]\d?(?:,\d\d)+,\d{{3}}(?:{point}\d*)?")
    return re.compile("|".join(forms))


_POINT, _COMMA = _grammar(Signs(".")), _grammar(Signs(","))
