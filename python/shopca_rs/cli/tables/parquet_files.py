"""Parquet → columns, by pandas and pyarrow."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from .columns import Contents, as_column, as_labels, check_label, listed, unique, whole
from .memory import check_fits
from .number_columns import candidates, evidence, numbers
from .numerals import Signs
from .text_files import TextOptions


def read_parquet(
    path: Path, options: TextOptions, *, label: str | None = None, drop: Collection[str] = ()
) -> Contents:
    """Read a Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    options : TextOptions
        How numbers are written in its columns of text.
    label : str, optional
        The column of labels.
    drop : collection of str, default=()
        Columns that are not read as numbers.

    Returns
    -------
    contents : Contents
        Its columns.

    Raises
    ------
    OSError, ValueError, ImportError
        With one sentence that says what to do.
    """
    told = options.signs
    frame = _frame(path)
    names, repeated = unique([str(name) for name in frame.columns])
    frame.columns = names
    notes = [f"Repeated column names got numbers: {listed(repeated)}."] if repeated else []
    check_label(label, names, str(path))
    labels = None
    if label is not None:
        column = as_column(label, frame.pop(label))
        labels = as_labels(column.values) if column.kind == "text" else column.values
        if column.kind == "numbers":
            labels = whole(labels)
    columns = [as_column(name, frame[name]) for name in frame]
    cells = candidates(columns, drop)
    found = evidence(cells.values(), options.thousands)
    decimal = told.decimal if told else found.decimal(separator="")
    if decimal is None:
        raise found.refusal(str(path))
    read, more = numbers(
        [cells.get(column.name, column) for column in columns],
        Signs(decimal, options.thousands),
        str(path),
        guessed=None if told else found,
    )
    return Contents(read, len(frame), labels, notes + more)


def _frame(path: Path) -> Any:
    try:
        import pandas  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "Reading .parquet needs pandas and pyarrow, which cannot be imported. "
            'Install them with pip install "shopca-rs[cli]".'
        ) from error
    with open(path, "rb") as handle:
        try:
            file = pyarrow.parquet.ParquetFile(handle)
            footer = file.metadata
            packed = [footer.row_group(j).total_byte_size for j in range(footer.num_row_groups)]
            size = max(8 * footer.num_rows * footer.num_columns, sum(packed))
        except Exception as error:
            raise _broken(path, error) from None
        check_fits(size, str(path))
        handle.seek(0)
        try:
            return pandas.read_parquet(handle, engine="pyarrow")
        except Exception as error:
            raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> ValueError:
    """Return the error for an unreadable file. On invalid bytes, pyarrow may raise anything."""
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return ValueError(f"{path} is not a Parquet file that can be read: {reason}.")
