"""A file → a table of numbers, and a note on everything that was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...arguments import as_choice
from .columns import Column, Contents, listed, no_column
from .files import check_there, explained, read_file
from .numerals import DECIMALS, THOUSANDS
from .sparse_files import is_sparse_file, read_sparse
from .text_files import TextOptions

Text = Literal["drop", "encode"]
Missing = Literal["median", "mean", "zero", "drop-rows", "error"]

TEXT: tuple[str, ...] = get_args(Text)
MISSING: tuple[str, ...] = get_args(Missing)

# Text with more distinct values than this is not a category but a name or a comment.
MOST_CATEGORIES = 20
# k neighbours of each point, itself excluded, and k is at least 2.
_FEWEST_ROWS = 3
# Fewer numbers may be consecutive by chance.
_FEWEST_IDENTIFIERS = 5


@dataclass(frozen=True)
class Table:
    """A table of numbers from a file.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Finite numbers; no column is constant. A csr_matrix if the file is sparse.
    names : list of str
        The columns.
    labels : ndarray of shape (n,) or None
        The column of labels: numbers, or text with "" where it is missing.
    rows : ndarray of int, shape (n,)
        Which rows of the file these are, counted from 0 without the header.
    notes : list of str
        What was dropped or filled and how, in sentences.
    n_rows : int
        How many rows the file has.
    """

    X: NDArray[np.float64]
    names: list[str]
    labels: NDArray[Any] | None
    rows: NDArray[np.intp]
    notes: list[str]
    n_rows: int


def read_table(
    path: str | Path,
    *,
    label: str | None = None,
    drop: Sequence[str] = (),
    text: Text = "drop",
    missing: Missing = "median",
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Table:
    r"""Read a table of numbers from a file.

    Columns of text are dropped or encoded. In a column of numbers, other cells and infinite numbers count as
    missing, but a cell that looks like a number and cannot be read is an error. Missing numbers are filled.
    Columns that are empty or constant are dropped.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, Parquet, .npy, .npz or Matrix Market; "-" is CSV from standard input.
    label : str, optional
        A column that is not a feature but holds the class labels.
    drop : sequence of str, default=()
        Columns to leave out.
    text : {"drop", "encode"}, default="drop"
        What to do with columns of text. "encode" makes a column of 0 and 1 for each of their values, if there
        are at most 20; two values need only one column.
    missing : {"median", "mean", "zero", "drop-rows", "error"}, default="median"
        How to replace missing numbers, whether to drop their rows, or whether to raise an error.
    separator, encoding, header
        Format of a text table; detected where None.
    decimal : {".", ",", "point", "comma"}, optional
        The decimal sign of numbers in text; detected from all rows by default.
    thousands : {",", ".", "'", " ", "", "comma", "point", "apostrophe", "space", "none"}, optional
        The thousands separator of such numbers; "" for none, by default any of the others.

    Returns
    -------
    table : Table
        The numbers and the notes.

    Raises
    ------
    OSError, ValueError, ImportError
        With one sentence that says what to do.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "points.csv"
    ...     _ = file.write_text("x,y,name\n1,2,a\n3,,b\n5,6,a\n")
    ...     table = read_table(file)
    >>> table.X.tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    >>> table.notes
    ['Dropped 1 column of text: name (2 values). --text encode keeps those of at most 20 values.',
     'Filled 1 missing value with the median of its column: y (1).']
    """
    as_choice(text, "text", TEXT)
    as_choice(missing, "missing", MISSING)
    file = "Standard input" if str(path) == "-" else str(path)
    if str(path) != "-" and is_sparse_file(Path(path)):
        return _sparse_table(Path(path), label, drop)
    decimal = as_sign(decimal, "decimal", DECIMALS)
    thousands = as_sign(thousands, "thousands", THOUSANDS)
    options = TextOptions(separator, encoding, header, decimal, thousands)
    contents = read_file(path, options, label=label, drop=drop)
    if contents.n_rows < _FEWEST_ROWS:
        raise ValueError(
            f"{file} must have at least {_FEWEST_ROWS} rows"
            f"{' besides the header' if header is not False else ''}, got {contents.n_rows}."
        )
    notes = list(contents.notes)
    columns = _wanted(contents, drop, label, file)
    features = _as_features(columns, text, notes)
    features = _without_infinite(features, notes)
    features = _without_empty(features, notes)
    _check_some(features, file)
    X = np.column_stack([values for _, values in features])
    rows = _rows_kept(X, [name for name, _ in features], missing, file, notes)
    X = _filled(X if len(rows) == len(X) else X[rows], [name for name, _ in features], missing, notes)
    varies = X.min(axis=0) < X.max(axis=0)
    _note_identifiers(features, contents.n_rows, notes)
    _note_constant([name for (name, _), kept in zip(features, varies, strict=True) if not kept], notes)
    features = [feature for feature, kept in zip(features, varies, strict=True) if kept]
    _check_some(features, file)
    names = [name for name, _ in features]
    labels = None if contents.labels is None else contents.labels[rows]
    X = np.ascontiguousarray(X if varies.all() else X[:, varies])
    return Table(X, names, labels, rows, notes, contents.n_rows)


def _sparse_table(path: Path, label: str | None, drop: Sequence[str]) -> Table:
    with explained(path):
        check_there(path)
        X, names, labels, notes = read_sparse(path, label, drop)
    n = X.shape[0]
    if n < _FEWEST_ROWS:
        raise ValueError(f"{path} must have at least {_FEWEST_ROWS} rows, got {n}.")
    return Table(X, names, labels, np.arange(n, dtype=np.intp), notes, n)


def as_sign(text: str | None, what: str, names: dict[str, str]) -> str | None:
    """Return a sign that is given by itself or by its name.

    Parameters
    ----------
    text : str or None
        As given.
    what : str
        Its purpose.
    names : dict of str to str
        Each sign by its name.

    Returns
    -------
    sign : str or None
        The sign.

    Examples
    --------
    >>> as_sign("comma", "decimal", DECIMALS)
    ','
    """
    if text is None or text in names.values():
        return text
    if text not in names:
        signs = ", ".join(f"{name} ({sign})" if sign.strip() else name for name, sign in names.items())
        raise ValueError(f"The {what} sign must be one of {signs}, got {text!r}.")
    return names[text]


Feature = tuple[str, NDArray[np.float64]]


def _wanted(contents: Contents, drop: Sequence[str], label: str | None, file: str) -> list[Column]:
    names = [column.name for column in contents.columns]
    for name in drop:
        if name == label:
            raise ValueError(f"The column {name} cannot be both the label and dropped. Choose one.")
        if name not in names:
            raise ValueError(no_column(name, names, file))
    return [column for column in contents.columns if column.name not in drop]


def _as_features(columns: list[Column], text: Text, notes: list[str]) -> list[Feature]:
    features: list[Feature] = []
    dropped: dict[str, list[str]] = {"text": [], "dates": [], "other": []}
    encoded: list[str] = []
    taken = {column.name for column in columns}
    for column in columns:
        if column.kind == "numbers":
            features.append((column.name, column.values))
        elif column.kind == "text":
            distinct = sorted({cell for cell in column.values if cell is not None})
            if text == "encode" and len(distinct) <= MOST_CATEGORIES:
                features += _indicators(column, distinct, taken)
                encoded.append(column.name)
                continue
            plural = "" if len(distinct) == 1 else "s"
            dropped["text"].append(f"{column.name} ({len(distinct)} value{plural})")
        else:
            dropped[column.kind].append(column.name)
    if dropped["text"]:
        many = f"of more than {MOST_CATEGORIES} values" if text == "encode" else ""
        hint = "" if many else f" --text encode keeps those of at most {MOST_CATEGORIES} values."
        what = f"{_columns(dropped['text'])} of text {many}".strip()
        notes.append(f"Dropped {what}: {listed(dropped['text'])}.{hint}")
    if dropped["dates"]:
        notes.append(f"Dropped {_columns(dropped['dates'])} of dates or times: {listed(dropped['dates'])}.")
    if dropped["other"]:
        what = f"{_columns(dropped['other'])} of neither numbers nor text"
        notes.append(f"Dropped {what}: {listed(dropped['other'])}.")
    if encoded:
        notes.append(f"Turned {_columns(encoded)} of text into 0/1 columns: {listed(encoded)}.")
    return features


def _indicators(column: Column, distinct: list[str], taken: set[str]) -> list[Feature]:
    """Return a column of 0 and 1 for each value, under names that no other column has."""
    absent = np.array([cell is None for cell in column.values])
    features = []
    # Two values need only one column.
    for value in distinct[1:] if len(distinct) == 2 else distinct:
        name = wanted = f"{column.name}={value}"
        number = 0
        while name in taken:
            number += 1
            name = f"{wanted}.{number}"
        taken.add(name)
        features.append((name, np.where(absent, np.nan, (column.values == value).astype(np.float64))))
    return features


def _without_infinite(features: list[Feature], notes: list[str]) -> list[Feature]:
    found = []
    finite: list[Feature] = []
    for name, values in features:
        infinite = np.isinf(values)
        if infinite.any():
            found.append(f"{name} ({infinite.sum()})")
            values = np.where(infinite, np.nan, values)
        finite.append((name, values))
    if found:
        notes.append(f"Infinite values count as missing: {listed(found)}.")
    return finite


def _without_empty(features: list[Feature], notes: list[str]) -> list[Feature]:
    empty = [name for name, values in features if np.isnan(values).all()]
    if empty:
        notes.append(f"Dropped {_columns(empty)} without any number: {listed(empty)}.")
    return [feature for feature in features if feature[0] not in set(empty)]


def _rows_kept(
    X: NDArray[np.float64], names: list[str], missing: Missing, file: str, notes: list[str]
) -> NDArray[np.intp]:
    absent = np.isnan(X)
    rows = np.arange(len(X), dtype=np.intp)
    if not absent.any() or missing not in ("drop-rows", "error"):
        return rows
    counts = listed(_counts(absent, names))
    if missing == "error":
        raise ValueError(
            f"{file} must have no missing values, got {absent.sum()}: {counts}. "
            "Give --missing median, mean, zero or drop-rows to handle them."
        )
    kept = rows[~absent.any(axis=1)]
    if len(kept) < _FEWEST_ROWS:
        raise ValueError(
            f"{file} must have at least {_FEWEST_ROWS} rows without missing values, got {len(kept)} of "
            f"{len(X)}. Drop the columns that miss most ({counts}), or fill them with --missing median."
        )
    notes.append(f"Dropped {len(X) - len(kept)} of {len(X)} rows because of missing values: {counts}.")
    return kept


def _filled(
    X: NDArray[np.float64], names: list[str], missing: Missing, notes: list[str]
) -> NDArray[np.float64]:
    absent = np.isnan(X)
    if not absent.any():
        return X
    some = absent.any(axis=0)
    fill = np.zeros(X.shape[1])
    # The sum of large numbers may overflow where their mean does not; so divide first. NaN may be signalling.
    with np.errstate(invalid="ignore"):
        if missing == "median":
            fill[some] = 2 * np.nanmedian(X[:, some] / 2, axis=0)
        elif missing == "mean":
            fill[some] = np.nansum(X[:, some] / (~absent[:, some]).sum(axis=0), axis=0)
    count = int(absent.sum())
    what = "zero" if missing == "zero" else f"the {missing} of {'its' if count == 1 else 'their'} column"
    plural = "" if count == 1 else "s"
    notes.append(f"Filled {count} missing value{plural} with {what}: {listed(_counts(absent, names))}.")
    return np.where(absent, fill, X)


def _counts(absent: NDArray[np.bool_], names: list[str]) -> list[str]:
    """Name the columns with missing values, those with most first, and how many."""
    counts = absent.sum(axis=0)
    order = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
    return [f"{names[j]} ({counts[j]})" for j in order]


def _note_identifiers(features: list[Feature], n_rows: int, notes: list[str]) -> None:
    """Mention columns of consecutive whole numbers, each once, in any order."""
    if n_rows < _FEWEST_IDENTIFIERS:
        return
    found = {}
    for name, values in features:
        with np.errstate(all="ignore"):
            low, high = values.min(), values.max()
            # NaN compares as unequal.
            consecutive = high - low == n_rows - 1 and not (values % 1).any()
        if consecutive:
            seen = np.zeros(n_rows, dtype=bool)
            seen[(values - low).astype(np.intp)] = True
            if seen.all():
                found[name] = f"{name} ({low:.0f} … {high:.0f})"
    if found:
        what = "a possible identifier" if len(found) == 1 else "possible identifiers"
        notes.append(
            f"Found {what}, a different whole number in each row: {listed(list(found.values()))}. "
            f"If so, give --drop {' '.join(map(quote, list(found)[:8]))}."
        )


def _note_constant(constant: list[str], notes: list[str]) -> None:
    if constant:
        notes.append(f"Dropped {_columns(constant)} of one value only: {listed(constant)}.")


def _check_some(features: list[Feature], file: str) -> None:
    if not features:
        raise ValueError(
            f"{file} must have at least one column of numbers that are not all the same, got none. "
            "Check the separator and the header; --text encode turns text into numbers."
        )


def _columns(names: list[str]) -> str:
    return f"{len(names)} column{'' if len(names) == 1 else 's'}"
