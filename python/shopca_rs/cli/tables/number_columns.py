"""Columns of text → columns of numbers, with one decimal sign for the whole file.

A cell such as 1,174 is 1174 in one country and 1.174 in the next. Which of the two holds is decided from all
cells of all columns that are mostly numbers: 23,1 or 1.234,5 can only have a decimal comma, 0.5 or 1,234.5
only a decimal point. A file with both is rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from .columns import Column, listed, short
from .numerals import Numeral, Signs, infinite, looks_numeric, parsed

_POINT, _COMMA = Signs("."), Signs(",")


class Cells:
    """The distinct cells of a column of text, parsed as numbers.

    Parameters
    ----------
    column : Column
        Of text.

    Attributes
    ----------
    column : Column
        The column.
    counts : Counter of str
        How often each cell occurs, without missing ones.
    numerals : dict of str to Numeral
        The cells that are numbers under some decimal sign.
    """

    def __init__(self, column: Column) -> None:
        self.column = column
        self.counts = Counter(cell for cell in column.values.tolist() if cell is not None)
        read = ((cell, parsed(cell)) for cell in self.counts)
        self.numerals: dict[str, Numeral] = {cell: numeral for cell, numeral in read if numeral is not None}

    def mostly(self, cells: Iterable[str]) -> bool:
        """Tell whether these make up more than half of the cells that are not missing.

        Parameters
        ----------
        cells : iterable of str
            Some of the distinct cells.

        Returns
        -------
        mostly : bool
            Whether they do.
        """
        return 2 * sum(self.counts[cell] for cell in cells) > self.counts.total()

    def place(self, cell: str) -> str:
        """Describe where a cell first occurs.

        Parameters
        ----------
        cell : str
            One of the cells.

        Returns
        -------
        place : str
            The cell, its row and its column.
        """
        return f"{short(cell)} (row {self.row(cell)} of {self.column.name})"

    def row(self, cell: str) -> int:
        """Return the first row of a cell.

        Parameters
        ----------
        cell : str
            One of the cells.

        Returns
        -------
        row : int
            Counted from 0 without the header.
        """
        return int(np.argmax(self.column.values == cell))


def candidates(columns: Iterable[Column], aside: Collection[str | None] = ()) -> dict[str, Cells]:
    """Parse the columns of text that may hold numbers.

    Parameters
    ----------
    columns : iterable of Column
        Of any kind.
    aside : collection of str, default=()
        Columns to skip.

    Returns
    -------
    cells : dict of str to Cells
        By the names of their columns.
    """
    return {
        column.name: Cells(column) for column in columns if column.kind == "text" and column.name not in aside
    }


@dataclass(frozen=True)
class Evidence:
    """The first cells of a file that show its decimal sign, or leave it ambiguous.

    Attributes
    ----------
    point, comma : str
        A number only if this is the decimal sign, with its place; "" if there is none.
    perhaps_point, perhaps_comma : str
        A number with this decimal sign, and another one if the sign marks thousands.
    """

    point: str = ""
    comma: str = ""
    perhaps_point: str = ""
    perhaps_comma: str = ""

    def __or__(self, other: Evidence) -> Evidence:
        return Evidence(
            self.point or other.point,
            self.comma or other.comma,
            self.perhaps_point or other.perhaps_point,
            self.perhaps_comma or other.perhaps_comma,
        )

    def decimal(self, separator: str) -> str | None:
        """Return the decimal sign.

        Parameters
        ----------
        separator : str
            Separator of a text table: a semicolon suggests that commas are decimal signs.

        Returns
        -------
        decimal : {".", ","} or None
            None if there is evidence for both.
        """
        if self.point and self.comma:
            return None
        if self.point or self.comma:
            return "." if self.point else ","
        return "," if separator == ";" and self.perhaps_comma and not self.perhaps_point else "."

    def refusal(self, file: str) -> ValueError:
        """Return the error for a file with both decimal signs.

        Parameters
        ----------
        file : str
            Its name.

        Returns
        -------
        error : ValueError
            With the two cells.
        """
        return ValueError(
            f"{file} must have one decimal sign, got a point in {self.point} and a comma in {self.comma}. "
            "Specify it with --decimal point or --decimal comma, or leave a column out with --drop."
        )


def evidence(columns: Iterable[Cells], thousands: str | None = None) -> Evidence:
    """Find the cells that show the decimal sign of a file.

    Parameters
    ----------
    columns : iterable of Cells
        All columns that may be numbers.
    thousands : str, optional
        The thousands separator, if it is known.

    Returns
    -------
    evidence : Evidence
        The first cell of each kind.
    """
    found: dict[str, str] = {}
    point, comma = Signs(".", thousands), Signs(",", thousands)
    for cells in columns:
        if not cells.mostly(cells.numerals):
            continue
        for cell, numeral in cells.numerals.items():
            digits = numeral.digits
            # "5." is a number, but in some languages also means "fifth".
            if digits.isdecimal() or digits[-1] in ".,":
                continue
            as_point, as_comma = numeral.fits(point), numeral.fits(comma)
            if as_point and as_comma:
                kind = "perhaps_point" if "." in digits else "perhaps_comma" if "," in digits else ""
            else:
                kind = "point" if as_point else "comma" if as_comma else ""
            if kind and kind not in found:
                found[kind] = cells.place(cell)
    return Evidence(**found)


def numbers(
    columns: Sequence[Column | Cells], signs: Signs, file: str, *, guessed: Evidence | None = None
) -> tuple[list[Column], list[str]]:
    """Turn the columns of text that are mostly numbers or booleans into numbers.

    Parameters
    ----------
    columns : sequence of Column or Cells
        Cells of the columns that may be converted; other columns stay as they are.
    signs : Signs
        How numbers are written.
    file : str
        Its name, for error messages.
    guessed : Evidence, optional
        What the signs were inferred from, if they were not given.

    Returns
    -------
    columns : list of Column
        In the same order.
    notes : list of str
        What was read differently from how it is written.

    Raises
    ------
    ValueError
        If a column of numbers has cells that look like numbers but cannot be read.
    """
    report = _Report(file, signs, guessed)
    turned = [report.turned(column) if isinstance(column, Cells) else column for column in columns]
    return turned, report.notes()


class _Report:
    """What happened to the columns of one file."""

    def __init__(self, file: str, signs: Signs, guessed: Evidence | None) -> None:
        self.file, self.signs, self.guessed = file, signs, guessed
        self.spoilt: list[str] = []
        self.currencies: list[str] = []
        self.percentages: list[str] = []
        self.negatives: list[str] = []
        self.grouped: list[str] = []
        self.decimal = False

    def turned(self, cells: Cells) -> Column:
        """Return a column as numbers if most of its cells are, else as it is."""
        column = cells.column
        if {cell.lower() for cell in cells.counts} <= {"true", "false"}:
            return self._filled(column, {cell: float(cell.lower() == "true") for cell in cells.counts})
        fitting = {cell: numeral for cell, numeral in cells.numerals.items() if numeral.fits(self.signs)}
        words = {cell: word for cell in cells.counts if (word := infinite(cell)) is not None}
        if not cells.mostly([*fitting, *words]):
            return column
        values = {cell: numeral.value(self.signs) for cell, numeral in fitting.items()}
        self._check(cells, fitting, values)
        bad = [cell for cell in cells.counts if cell not in values and cell not in words]
        if bad:
            count = sum(cells.counts[cell] for cell in bad)
            self.spoilt.append(f"{column.name} ({count}, such as {short(bad[0])} in row {cells.row(bad[0])})")
        self._mention(column.name, fitting, values)
        return self._filled(column, values | words)

    def _filled(self, column: Column, values: dict[str, float]) -> Column:
        read: NDArray[np.float64] = np.array([values.get(cell, np.nan) for cell in column.values.tolist()])
        return Column(column.name, "numbers", read)

    def _check(self, cells: Cells, fitting: dict[str, Numeral], values: dict[str, float]) -> None:
        name, leave = cells.column.name, f"leave the column out with --drop {quote(cells.column.name)}"
        lost = [cell for cell in cells.counts if cell not in fitting and looks_numeric(cell)]
        if lost:
            count = sum(cells.counts[cell] for cell in lost)
            other = "comma" if self.signs.decimal == "." else "point"
            hint = f"give --decimal {other}, or " if any(cell in cells.numerals for cell in lost) else "or "
            raise ValueError(
                f"The column {name} of {self.file} must hold numbers, got {count} that cannot be read: "
                f"{listed([cells.place(cell) for cell in lost], 3)}. Correct them, {hint}{leave}."
            )
        beyond = [cell for cell, value in values.items() if np.isinf(value)]
        if beyond:
            raise ValueError(
                f"{self.file} must hold numbers up to 1.8e308 (float64), got {cells.place(beyond[0])}. "
                f"Correct it, or {leave}."
            )
        units = {numeral.unit: cell for cell, numeral in fitting.items() if values[cell]}
        parts, currencies = units.keys() & {"%", "‰"}, units.keys() - {"", "%", "‰"}
        if len(currencies) > 1 or (parts and len(units) > len(parts)):
            mixed = [cells.place(cell) for unit, cell in units.items() if unit or parts]
            raise ValueError(
                f"The column {name} of {self.file} must be in one unit, got {listed(mixed, 3)}. "
                f"Convert it to one unit, or {leave}."
            )

    def _mention(self, name: str, fitting: dict[str, Numeral], values: dict[str, float]) -> None:
        cell = next((cell for cell, numeral in fitting.items() if numeral.unit), "")
        if cell and fitting[cell].unit in "%‰":
            self.percentages.append(f"{name} ({cell} is {values[cell]:.15g})")
        elif cell:
            self.currencies.append(f"{name} ({fitting[cell].unit})")
        negative = next((cell for cell, numeral in fitting.items() if numeral.accounting), None)
        if negative is not None:
            self.negatives.append(f"{name} ({negative} is {values[negative]:.15g})")
        grouped = next((cell for cell, numeral in fitting.items() if numeral.grouped(self.signs)), None)
        if grouped is not None:
            self.grouped.append(f"{name} ({grouped} is {values[grouped]:.15g})")

    def notes(self) -> list[str]:
        """Describe what was read differently from how it is written."""
        notes = []
        guess = self.guessed
        if guess is not None and self.signs.decimal == ",":
            doubt = "" if guess.comma else " If they mark thousands, give --thousands comma."
            notes.append(f"Decimal signs are commas.{doubt}")
        if self.grouped:
            doubt = ""
            if guess is not None and not guess.point and guess.perhaps_comma and self.signs.decimal == ".":
                doubt = " If commas are decimal signs, give --decimal comma."
            notes.append(f"Removed thousands separators: {listed(self.grouped)}.{doubt}")
        if self.currencies:
            count = f"{len(self.currencies)} column{'' if len(self.currencies) == 1 else 's'}"
            notes.append(f"Read {count} with currency signs: {listed(self.currencies)}.")
        if self.percentages:
            notes.append(f"Percentages are read as fractions: {listed(self.percentages)}.")
        if self.negatives:
            notes.append(
                f"Numbers in parentheses or with a minus at the end are negative: {listed(self.negatives)}."
            )
        if self.spoilt:
            notes.append(f"Cells that are not numbers count as missing: {listed(self.spoilt)}.")
        return notes
