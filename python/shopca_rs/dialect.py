"""The first lines of a text table → how to read it: encoding, separator, decimal sign, header."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field

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
_SNIFFED_ROWS = 100


@dataclass(frozen=True)
class Dialect:
    """How a text table is to be read.

    Attributes
    ----------
    encoding : str
        As `codecs` names it.
    separator : str
        One character; a space stands for any number of them.
    decimal : str
        "." or ",".
    names : list of str
        The columns, each name once.
    header : bool
        Whether the first row holds the names.
    notes : list of str
        What was found out and not told, in sentences.
    """

    encoding: str
    separator: str
    decimal: str
    names: list[str]
    header: bool
    notes: list[str] = field(default_factory=list)


def detect(
    sample: bytes, file: str, *, separator: str | None, encoding: str | None, header: bool | None, usual: str
) -> Dialect:
    r"""Find out how to read a text table.

    Parameters
    ----------
    sample : bytes
        Its first lines.
    file : str
        Its name, for error texts.
    separator, encoding, header
        What is known already; None for what is to be found out.
    usual : str
        The separator that goes without saying.

    Returns
    -------
    dialect : Dialect
        How to read it.

    Examples
    --------
    >>> found = detect(b"a;b\n1,5;2\n", "x.csv", separator=None, encoding=None, header=None, usual=",")
    >>> found.separator, found.decimal, found.names
    (';', ',', ['a', 'b'])
    """
    notes: list[str] = []
    known = encoding or next((name for bom, name in _BOMS.items() if sample.startswith(bom)), "utf-8")
    text = _decoded(sample, known, file)
    if not text.strip():
        raise ValueError(f"{file} is empty. Give a file with a header and at least 3 rows.")
    if separator is None:
        separator, rows = _most_even(text, usual, file)
        if separator != usual:
            name = next(name for name, sign in SEPARATORS.items() if sign == separator)
            notes.append(f"The columns are separated by {name} signs.")
    else:
        separator = as_separator(separator)
        rows = _rows(text, separator, file)
    decimal = _decimal_sign(rows, separator)
    if decimal == ",":
        notes.append("Decimal signs are commas.")
    names, header, more = _names(rows[0], decimal, header)
    return Dialect(known, separator, decimal, names, header, notes + more)


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
    if len(sign) != 1 or sign in '"\n\r.' or sign.isalnum():
        raise ValueError(
            f"The separator must be one sign such as ; or one of {', '.join(SEPARATORS)}, got {text!r}."
        )
    return sign


def unique(names: list[str]) -> tuple[list[str], list[str]]:
    """Give a number to every name that was there before.

    Parameters
    ----------
    names : list of str
        Some of them perhaps alike.

    Returns
    -------
    different : list of str
        The same, none of them twice.
    repeated : list of str
        The names that were.

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


def _decoded(sample: bytes, encoding: str, file: str) -> str:
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise ValueError(
            f"There is no encoding {encoding!r}. Usual ones are utf-8, latin-1, cp1252 and utf-16."
        ) from None
    if b"\0" in sample and not codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        raise ValueError(
            f"{file} is not text: it holds zero bytes. Give a text table, or a file of another kind "
            "with its own extension."
        )
    try:
        return decoder.decode(sample).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(undecodable(file, encoding, error)) from None


def undecodable(file: str, encoding: str, error: UnicodeDecodeError) -> str:
    """Say that a file is not in its encoding and what to do.

    Parameters
    ----------
    file, encoding : str
        Which file, and what it was taken for.
    error : UnicodeDecodeError
        What came up.

    Returns
    -------
    text : str
        A sentence.
    """
    other = "latin-1" if encoding.startswith("utf-8") else "utf-8"
    byte = error.object[error.start]
    return f"{file} is not {encoding}: it holds the byte 0x{byte:02x}. Try --encoding {other}."


def _rows(text: str, separator: str, file: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    rows = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
            if len(rows) == _SNIFFED_ROWS:
                break
    except csv.Error as error:
        raise ValueError(f"{file} is not a table: {error}. Look at its line {reader.line_num}.") from None
    # A line of separators alone is a row of missing values, but nothing to learn from.
    return rows or [[""] * (text.splitlines()[0].count(separator) + 1)]


def _most_even(text: str, usual: str, file: str) -> tuple[str, list[list[str]]]:
    """Find the separator that cuts the most rows as it cuts the first."""
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
    if not candidates:
        return usual, _rows(text, usual, file)
    best = max(candidates, key=lambda separator: candidates[separator][0])
    return best, candidates[best][1]


def _decimal_sign(rows: list[list[str]], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    commas = any(re.fullmatch(r"[-+]?\d*,\d+([eE][-+]?\d+)?", cell) for cell in cells)
    points = any(re.fullmatch(r"[-+]?\d*\.\d+([eE][-+]?\d+)?", cell) for cell in cells)
    return "," if commas and not points else "."


def _names(first: list[str], decimal: str, header: bool | None) -> tuple[list[str], bool, list[str]]:
    told = [cell for cell in first if cell not in MISSING]
    numbers = [cell for cell in told if _is_number(cell, decimal)]
    ordinary = [f"column{j}" for j in range(len(first))]
    if header is False or (header is None and told and len(numbers) == len(told)):
        named = ordinary[0] if len(ordinary) == 1 else f"{ordinary[0]} … {ordinary[-1]}"
        how = "" if header is False else "The first row holds only numbers, so it is data and not a header. "
        again = "" if header is False else " (--header takes the first row for names)"
        return ordinary, False, [f"{how}The columns are called {named}{again}."]
    notes = []
    if header is None and numbers:
        notes.append(
            f"The first row is taken for the header, though it holds numbers such as {numbers[0]}. "
            "If it is data, give --no-header."
        )
    names, repeated = unique([cell or ordinary[j] for j, cell in enumerate(first)])
    if repeated:
        notes.append(f"Repeated column names got numbers: {listed(repeated)}.")
    return names, True, notes


def _is_number(cell: str, decimal: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", cell.replace(decimal, ".")) is not None


def listed(names: list[str], most: int = 8) -> str:
    """Write names after each other, but not too many.

    Parameters
    ----------
    names : list of str
        What to write.
    most : int, default=8
        How many.

    Returns
    -------
    text : str
        The names with commas between.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
