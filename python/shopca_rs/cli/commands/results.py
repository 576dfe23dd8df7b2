"""Numbers for each row → a file by its extension, or CSV on standard output."""

from __future__ import annotations

import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ..tables import Table
from ..tables.columns import unique

FORMATS = (".csv", ".tsv", ".parquet", ".npy", ".npz")


@dataclass(frozen=True)
class Result:
    """Numbers for each row of a table.

    Attributes
    ----------
    names : list of str
        The columns of numbers.
    values : ndarray of shape (n, m)
        The numbers.
    table : Table
        What they were computed from.
    label : str or None
        What the labels are called.
    truths : tuple of str
        Columns that hold 1 for true and 0 for false.
    """

    names: list[str]
    values: NDArray[np.float64]
    table: Table
    label: str | None
    truths: tuple[str, ...] = ()

    @property
    def rows(self) -> NDArray[np.intp] | None:
        """Which rows of the file these are; None if all of them."""
        return None if len(self.table.rows) == self.table.n_rows else self.table.rows

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the row numbers if some are missing, the numbers, and the labels if there are any.

        Returns
        -------
        columns : dict
            By their names; if the label has the name of another column, a number is appended.
        """
        columns: list[tuple[str, NDArray[Any]]] = [
            (name, values == 1 if name in self.truths else values)
            for name, values in zip(self.names, self.values.T, strict=True)
        ]
        if self.rows is not None:
            columns.insert(0, ("row", self.rows))
        if self.table.labels is not None:
            columns.append((self.label or "y", self.table.labels))
        return dict(zip(unique([name for name, _ in columns])[0], [v for _, v in columns], strict=True))


def check_format(path: str) -> None:
    """Reject a file extension that `write_result` does not support.

    Parameters
    ----------
    path : str
        Where to write; "-" is standard output.

    Raises
    ------
    ValueError, ImportError
        With one sentence that says what to do.
    """
    suffix = Path(path).suffix.lower()
    if path != "-" and suffix not in FORMATS:
        raise ValueError(f"{path} must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    if suffix == ".parquet":
        _pyarrow()


def write_result(result: Result, path: Path) -> str | None:
    """Write numbers to a file.

    Parameters
    ----------
    result : Result
        What to write.
    path : Path
        The extension says how.

    Returns
    -------
    note : str or None
        What the file format cannot hold, if anything.
    """
    suffix = path.suffix.lower()
    labels, rows = result.table.labels, result.rows
    if suffix == ".npy":
        np.save(path, result.values)
        left_out = [
            what
            for what, there in (("labels", labels is not None), ("row numbers", rows is not None))
            if there
        ]
        return f"A .npy file cannot hold the {' and '.join(left_out)}; a .npz file can." if left_out else None
    if suffix == ".npz":
        arrays: dict[str, Any] = {"X": result.values, "names": np.array(result.names)}
        if labels is not None:
            arrays["y"] = labels.astype(str) if labels.dtype.kind == "O" else labels
        if rows is not None:
            arrays["rows"] = rows
        np.savez(path, **arrays)
    elif suffix == ".parquet":
        pyarrow = _pyarrow()
        # NaN becomes null.
        columns = {name: pyarrow.array(values, from_pandas=True) for name, values in result.columns().items()}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    else:
        with open(path, "w", encoding="utf-8", newline="") as file:
            _write_lines(result, file, "\t" if suffix == ".tsv" else ",")
    return None


def print_result(result: Result) -> None:
    """Write numbers to standard output as CSV.

    Parameters
    ----------
    result : Result
        What to write.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Labels are data: write the same bytes in every locale.
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    _write_lines(result, sys.stdout, ",")
    sys.stdout.flush()


def _write_lines(result: Result, file: TextIO, separator: str) -> None:
    columns = result.columns()
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    # Python floats are written with the shortest digits that read back as the same number.
    writer.writerows(zip(*[_cells(values) for values in columns.values()], strict=True))


def _cells(values: NDArray[Any]) -> list[Any]:
    if values.dtype.kind == "b":
        return ["true" if value else "false" for value in values]
    if values.dtype.kind == "f" and np.isnan(values).any():
        return ["" if np.isnan(value) else value for value in values.tolist()]
    cells: list[Any] = values.tolist()
    return cells


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "Writing .parquet needs pyarrow, which cannot be imported. "
            'Install it with pip install "shopca-rs[cli]".'
        ) from error
    return pyarrow
