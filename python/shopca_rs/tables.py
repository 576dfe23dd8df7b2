"""A file → a table of numbers, and a sentence about everything that was changed on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .arguments import as_choice
from .dialect import listed
from .files import Column, Contents, no_column, read_file

Text = Literal["drop", "encode"]
Missing = Literal["median", "mean", "zero", "drop-rows", "error"]

TEXT: tuple[str, ...] = get_args(Text)
MISSING: tuple[str, ...] = get_args(Missing)

# Text with more different values than this is a name or a remark, not a category.
MOST_CATEGORIES = 20
# k neighbours of each point, itself excluded, and k is at least 2.
_FEWEST_ROWS = 3


@dataclass(frozen=True)
class Table:
    """A table of numbers from a file.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Finite numbers; no column is constant.
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
) -> Table:
    r"""Read a table of numbers from a file.

    Columns of text are dropped or encoded; what is not a number in a column of numbers counts as missing, as
    do infinite numbers; missing numbers are filled; columns that are empty or constant are dropped.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, Parquet, .npy or .npz; "-" is CSV from standard input.
    label : str, optional
        A column that is not a feature but names the rows' classes.
    drop : sequence of str, default=()
        Columns to leave out.
    text : {"drop", "encode"}, default="drop"
        What to do with columns of text. "encode" turns each of their values into a column of 0 and 1, if
        there are at most 20; of two values the second is enough.
    missing : {"median", "mean", "zero", "drop-rows", "error"}, default="median"
        What to put in the place of a missing number, or not to go on without it.
    separator, encoding, header
        Of a text table; found out where None.

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
    contents = read_file(path, label=label, separator=separator, encoding=encoding, header=header)
    if contents.n_rows < _FEWEST_ROWS:
        raise ValueError(
            f"{file} must have at least {_FEWEST_ROWS} rows"
            f"{' besides the header' if header is not False else ''}, got {contents.n_rows}."
        )
    notes = list(contents.notes)
    columns = _wanted(contents, drop, label, file)
    features = _as_numbers(columns, text, notes)
    features = _without_infinite(features, notes)
    features = _without_empty(features, notes)
    _check_some(features, file)
    X = np.column_stack([values for _, values in features])
    rows = _rows_kept(X, [name for name, _ in features], missing, file, notes)
    X = _filled(X[rows], [name for name, _ in features], missing, notes)
    varies = X.min(axis=0) < X.max(axis=0)
    _note_constant([name for (name, _), kept in zip(features, varies, strict=True) if not kept], notes)
    features = [feature for feature, kept in zip(features, varies, strict=True) if kept]
    _check_some(features, file)
    names = [name for name, _ in features]
    labels = None if contents.labels is None else contents.labels[rows]
    return Table(np.ascontiguousarray(X[:, varies]), names, labels, rows, notes, contents.n_rows)


Feature = tuple[str, NDArray[np.float64]]


def _wanted(contents: Contents, drop: Sequence[str], label: str | None, file: str) -> list[Column]:
    names = [column.name for column in contents.columns]
    for name in drop:
        if name == label:
            raise ValueError(f"The column {name} cannot be both the label and dropped. Give one of the two.")
        if name not in names:
            raise ValueError(no_column(name, names, file))
    return [column for column in contents.columns if column.name not in drop]


def _as_numbers(columns: list[Column], text: Text, notes: list[str]) -> list[Feature]:
    features: list[Feature] = []
    dropped: dict[str, list[str]] = {"text": [], "dates": [], "other": []}
    spoilt: list[str] = []
    encoded: list[str] = []
    for column in columns:
        if column.kind == "numbers":
            features.append((column.name, column.values))
            continue
        if column.kind == "text":
            read = _parsed(column.values)
            if read is not None:
                features.append((column.name, read[0]))
                spoilt += [f"{column.name} ({read[1]}, such as {_short(read[2])})"] if read[1] else []
                continue
            distinct = sorted({cell for cell in column.values if cell is not None})
            if text == "encode" and len(distinct) <= MOST_CATEGORIES:
                features += _indicators(column, distinct)
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
    if spoilt:
        notes.append(f"Cells that are not numbers count as missing: {listed(spoilt)}.")
    return features


def _parsed(text: NDArray[Any]) -> tuple[NDArray[np.float64], int, str] | None:
    """Read text as numbers if more than half of it are, or as truth values if all are.

    Returns the numbers, how many cells are not one, and the first of these.
    """
    told = {cell for cell in text if cell is not None}
    truth = {cell: float(cell.lower() == "true") for cell in told}
    if {cell.lower() for cell in told} <= {"true", "false"}:
        meaning = truth
    else:
        meaning = {cell: _number(cell) for cell in told}
    numbers = np.array([np.nan if cell is None else meaning[cell] for cell in text], dtype=np.float64)
    bad = [cell for cell in text if cell is not None and np.isnan(meaning[cell])]
    present = sum(cell is not None for cell in text)
    if present and 2 * len(bad) >= present:
        return None
    return numbers, len(bad), bad[0] if bad else ""


def _number(cell: str) -> float:
    try:
        # Python reads 12_34 as 1234, a file hardly means it.
        return float("nan") if "_" in cell else float(cell)
    except ValueError:
        return float("nan")


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 20 else cell[:19] + "…")


def _indicators(column: Column, distinct: list[str]) -> list[Feature]:
    absent = np.array([cell is None for cell in column.values])
    # Of two values one says it all.
    return [
        (f"{column.name}={value}", np.where(absent, np.nan, (column.values == value).astype(np.float64)))
        for value in (distinct[1:] if len(distinct) == 2 else distinct)
    ]


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
            "--missing median, mean, zero or drop-rows goes on without them."
        )
    kept = rows[~absent.any(axis=1)]
    if len(kept) < _FEWEST_ROWS:
        raise ValueError(
            f"{file} must have at least {_FEWEST_ROWS} rows without missing values, got {len(kept)} of "
            f"{len(X)}. Drop the columns that miss most ({counts}), or fill them with --missing median."
        )
    notes.append(f"Dropped {len(X) - len(kept)} of {len(X)} rows for missing values: {counts}.")
    return kept


def _filled(
    X: NDArray[np.float64], names: list[str], missing: Missing, notes: list[str]
) -> NDArray[np.float64]:
    absent = np.isnan(X)
    if not absent.any():
        return X
    some = absent.any(axis=0)
    fill = np.zeros(X.shape[1])
    if missing == "median":
        fill[some] = np.nanmedian(X[:, some], axis=0)
    elif missing == "mean":
        # The sum of large numbers may overflow where their mean does not; so divide first.
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


def _note_constant(constant: list[str], notes: list[str]) -> None:
    if constant:
        notes.append(f"Dropped {_columns(constant)} of one value only: {listed(constant)}.")


def _check_some(features: list[Feature], file: str) -> None:
    if not features:
        raise ValueError(
            f"{file} must have at least one column of numbers that are not all the same, got none. "
            "Check the separator and the header; --text encode makes numbers of text."
        )


def _columns(names: list[str]) -> str:
    return f"{len(names)} column{'' if len(names) == 1 else 's'}"
