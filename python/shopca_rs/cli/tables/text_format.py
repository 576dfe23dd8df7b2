"""The first lines of a text table → how to read it: encoding, separator, header, perhaps the decimal sign."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from .columns import Column, listed, unique
from .number_columns import Evidence, candidates, evidence
from .numerals import parsed

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}

# What stands for a missing value in a text table.
MISSING = [
    *("", "?", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "Null", "null", "None", "none"),
]

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Enough to guess the decimal sign; all rows are checked later.
_GUESS_ROWS = 100


@dataclass(frozen=True)
class TextFormat:
    """How a text table is to be read.

    Attributes
    ----------
    encoding : str
        As `codecs` names it.
    separator : str
        One character; a space stands for any number of them.
    names : list of str
        The columns, each name once.
    header : bool
        Whether the first row holds the names.
    evidence : Evidence
        What the first rows say about the decimal sign.
    notes : list of str
        What was detected, in sentences.
    """

    encoding: str
    separator: str
    names: list[str]
    header: bool
    evidence: Evidence
    notes: list[str] = field(default_factory=list)


def detect(
    sample: bytes,
    file: str,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    usual: str = ",",
    thousands: str | None = None,
    aside: Collection[str | None] = (),
) -> TextFormat:
    r"""Detect how to read a text table.

    Parameters
    ----------
    sample : bytes
        Its first lines.
    file : str
        Its name, for error messages.
    separator, encoding, header
        What is known already; None for what is to be detected.
    usual : str, default=","
        The separator that the extension implies.
    thousands : str, optional
        The thousands separator, if it is known.
    aside : collection of str, default=()
        Columns that are not read as numbers.

    Returns
    -------
    form : TextFormat
        How to read it.

    Examples
    --------
    >>> found = detect(b"a;b\n1,5;2\n", "x.csv")
    >>> found.separator, found.evidence.decimal(";"), found.names
    (';', ',', ['a', 'b'])
    """
    notes: list[str] = []
    known = encoding or next((name for bom, name in _BOMS.items() if sample.startswith(bom)), "utf-8")
    text = _decoded(sample, known, file)
    if not text.strip():
        raise ValueError(f"{file} is empty. Give a file with a header and at least 3 rows.")
    if separator is None:
        separator, rows = _most_even(text, usual, file)
        if separator != usual and len(rows[0]) > 1:
            name = next(name for name, sign in SEPARATORS.items() if sign == separator)
            notes.append(f"The columns are separated by {name}s.")
    else:
        separator = as_separator(separator)
        rows = _rows(text, separator, file)
    names, header, more = _names(rows[0], header)
    first = candidates(_columns(names, rows[header:][:_GUESS_ROWS]), aside)
    return TextFormat(known, separator, names, header, evidence(first.values(), thousands), notes + more)


def as_separator(text: str) -> str:
    r"""Return a separator given by its name or as one character.

    Parameters
    ----------
    text : str
        One of the names in `SEPARATORS`, ``\t``, or the character.

    Returns
    -------
    separator : str
        The character.

    Examples
    --------
    >>> as_separator("semicolon")
    ';'
    """
    sign = SEPARATORS.get(text, "\t" if text == "\\t" else text)
    if len(sign) != 1 or sign in '"\n\r.' or sign.isalnum() or not sign.isascii() or sign < "\t":
        raise ValueError(
            f"The separator must be one character such as ; or one of {', '.join(SEPARATORS)}, got {text!r}."
        )
    return sign


def _decoded(sample: bytes, encoding: str, file: str) -> str:
    try:
        if not codecs.lookup(encoding)._is_text_encoding:
            raise LookupError
        decoder = codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError):
        raise ValueError(
            f"There is no encoding {encoding!r}. Usual ones are utf-8, latin-1, cp1252 and utf-16."
        ) from None
    try:
        text: str = decoder.decode(sample)
    except UnicodeError as error:
        if b"\0" in sample:
            raise ValueError(zero_byte(file)) from None
        raise ValueError(undecodable(file, encoding, error)) from None
    if "\0" in text:
        raise ValueError(zero_byte(file))
    return text.removeprefix("\ufeff")


def zero_byte(file: str) -> str:
    """Return the error message for a file that is not text.

    Parameters
    ----------
    file : str
        Its name.

    Returns
    -------
    text : str
        Two sentences.
    """
    return (
        f"{file} is not text: it contains zero bytes. Give a text table, or a file of another kind "
        "with its own extension; a table in UTF-16 without a byte order mark needs --encoding utf-16."
    )


def undecodable(file: str, encoding: str, error: UnicodeError) -> str:
    """Return the error message for a file that is not in its encoding.

    Parameters
    ----------
    file, encoding : str
        Which file, and its supposed encoding.
    error : UnicodeError
        What the codec raised.

    Returns
    -------
    text : str
        A sentence.
    """
    other = "latin-1" if encoding.startswith("utf-8") else "utf-8"
    held = ""
    if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
        held = f": it contains the byte 0x{error.object[error.start]:02x}"
    return f"{file} is not {encoding}{held}. Try --encoding {other}."


def _rows(text: str, separator: str, file: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        rows = [[cell.strip() for cell in row] for row in reader]
    except csv.Error as error:
        raise ValueError(f"{file} is not a table: {error}. Check line {reader.line_num}.") from None
    # A line of separators alone is a row of missing values and tells nothing about the format.
    return [row for row in rows if any(row)] or [[""] * (text.splitlines()[0].count(separator) + 1)]


def _most_even(text: str, usual: str, file: str) -> tuple[str, list[list[str]]]:
    """Find the separator that splits the most rows into as many cells as the first."""
    candidates = {}
    # The first wins a tie: commas and spaces are also found inside the cells of other tables.
    for separator in dict.fromkeys(["\t", ";", "|", usual, ","]):
        try:
            rows = _rows(text, separator, file)
        except ValueError:
            continue
        if len(rows[0]) > 1:
            even = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
            candidates[separator] = even, rows
    if candidates:
        best = max(candidates, key=lambda separator: candidates[separator][0])
        return best, candidates[best][1]
    rows = _rows(text, usual, file)
    if usual == "," and any(len(row) > 1 for row in rows):
        # One column, and the commas in it may be decimal signs.
        single = _rows(text, ";", file)
        if all(cell in MISSING or parsed(cell) for row in single[1:] for cell in row):
            return ";", single
    return usual, rows


def _names(first: list[str], header: bool | None) -> tuple[list[str], bool, list[str]]:
    told = [cell for cell in first if cell not in MISSING]
    numbers = [cell for cell in told if parsed(cell)]
    ordinary = [f"column{j}" for j in range(len(first))]
    if header is False or (header is None and told and len(numbers) == len(told)):
        named = ordinary[0] if len(ordinary) == 1 else f"{ordinary[0]} … {ordinary[-1]}"
        how = "" if header is False else "The first row holds only numbers, so it is data and not a header. "
        again = "" if header is False else " (--header uses the first row as names)"
        return ordinary, False, [f"{how}The columns are called {named}{again}."]
    notes = []
    if header is None and numbers:
        notes.append(
            f"The first row is taken as the header, although it holds numbers such as {numbers[0]}. "
            "If it is data, give --no-header."
        )
    names, repeated = unique([cell or ordinary[j] for j, cell in enumerate(first)])
    if repeated:
        notes.append(f"Repeated column names got numbers: {listed(repeated)}.")
    return names, True, notes


def _columns(names: list[str], rows: list[list[str]]) -> list[Column]:
    columns = []
    for j, name in enumerate(names):
        cells = [row[j] if j < len(row) and row[j] not in MISSING else None for row in rows]
        columns.append(Column(name, "text", np.array(cells, dtype=object)))
    return columns
