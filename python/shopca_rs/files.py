"""A file → its columns, each as it stands there: numbers, text, or something else.

CSV, TSV and Parquet are read by pandas, which is imported when one of them is read:
``pip install "shopca-rs[cli]"``. NumPy's own formats need nothing.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from .dialect import MISSING, Dialect, detect, listed, undecodable, unique

_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_KNOWN = ".csv, .tsv (also .gz, .bz2 or .xz), .parquet, .npy or .npz"
_SAMPLE_BYTES = 2**18


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Attributes
    ----------
    name : str
        What it is called.
    kind : {"numbers", "text", "dates", "other"}
        What it holds.
    values : ndarray of shape (n,)
        Of "numbers" float64 with NaN where one is missing; of "text" str or None; of the others anything.
    """

    name: str
    kind: Literal["numbers", "text", "dates", "other"]
    values: NDArray[Any]


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes
    ----------
    columns : list of Column
        All but that of the labels.
    n_rows : int
        How many rows each of them has.
    labels : ndarray of shape (n_rows,) or None
        Numbers, or text with "" where it is missing.
    notes : list of str
        What the reader had to decide, in sentences.
    """

    columns: list[Column]
    n_rows: int
    labels: NDArray[Any] | None
    notes: list[str] = field(default_factory=list)


def read_file(
    path: str | Path,
    *,
    label: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> Contents:
    """Read a file by its extension.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, Parquet, .npy or .npz; "-" is CSV from standard input.
    label : str, optional
        The column of labels; in a .npz file also the name of an array.
    separator, encoding, header
        Of a text table; found out where None.

    Returns
    -------
    contents : Contents
        Its columns.

    Raises
    ------
    OSError, ValueError, ImportError
        With one sentence that says what to do.
    """
    if str(path) == "-":
        handle = io.BytesIO(sys.stdin.buffer.read())
        return _read_text(handle, "Standard input", label, separator, encoding, header, usual=",")
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Give the name of a file.")
    if not path.exists():
        near = get_close_matches(path.name, [file.name for file in path.parent.glob("*")], n=1)
        hint = f"Did you mean {path.with_name(near[0])}?" if near else "Check the name and the folder."
        raise FileNotFoundError(f"There is no file {path}. {hint}")
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _read_parquet(path, label)
    if suffix in (".npy", ".npz"):
        return _read_numpy(path, label)
    opener: Callable[..., Any] = open
    if suffix in _PACKED:
        opener = _PACKED[suffix]
        suffix = path.with_suffix("").suffix.lower()
    if suffix not in _TEXT and separator is None:
        raise ValueError(
            f"{path} must end in {_KNOWN}, got {path.suffix or 'no extension'}. "
            "A text table of another name is read if --separator is given."
        )
    with _explained(path), opener(path, "rb") as opened:
        # A pipe cannot be read twice.
        handle = opened if opened.seekable() else io.BytesIO(opened.read())
        return _read_text(handle, str(path), label, separator, encoding, header, _TEXT.get(suffix, ","))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say of which file an error of a library speaks."""
    try:
        yield
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is broken or not what its extension says: {error}.") from None
    except OSError as error:
        raise OSError(f"{path} cannot be read: {error.strerror or error}.") from None


def _pandas(what: str) -> Any:
    try:
        import pandas  # type: ignore[import-untyped]

        if what == ".parquet":
            import pyarrow  # type: ignore[import-untyped]  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Reading {what} needs pandas{' and pyarrow' if what == '.parquet' else ''}, which cannot be "
            'imported. Install it with pip install "shopca-rs[cli]".'
        ) from error
    return pandas


def _read_text(
    handle: BinaryIO,
    file: str,
    label: str | None,
    separator: str | None,
    encoding: str | None,
    header: bool | None,
    usual: str,
) -> Contents:
    sample = handle.read(_SAMPLE_BYTES) + handle.readline()
    dialect = detect(sample, file, separator=separator, encoding=encoding, header=header, usual=usual)
    _check_label(label, dialect.names, file)
    handle.seek(0)
    frame = _parsed(handle, file, dialect, label)
    labels = None if label is None else _as_labels(_text(frame.pop(label)))
    columns = [_column(name, frame[name]) for name in frame]
    return Contents(columns, len(frame), labels, dialect.notes)


def _parsed(handle: BinaryIO, file: str, dialect: Dialect, label: str | None) -> Any:
    pandas = _pandas("text tables")
    # From 3.1 on pandas reads numbers to the last bit unasked, and warns who asks.
    old = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
    with warnings.catch_warnings():
        # What pandas only warns of here is a loss of data.
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            return pandas.read_csv(
                handle,
                sep=r"\s+" if dialect.separator == " " else dialect.separator,
                decimal=dialect.decimal,
                encoding=dialect.encoding,
                header=0 if dialect.header else None,
                names=dialect.names,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
                float_precision="round_trip" if old else None,
                # A label may well be called "None".
                dtype={} if label is None else {label: str},
                na_values=MISSING
                if label is None
                else {name: MISSING if name != label else [""] for name in dialect.names},
                keep_default_na=False,
            )
        except UnicodeDecodeError as error:
            raise ValueError(undecodable(file, dialect.encoding, error)) from None
        except pandas.errors.ParserWarning:
            raise ValueError(
                f"{file} must have rows of one length, got {len(dialect.names)} cells in the first row and "
                "more in others. Check the separator and the header."
            ) from None
        except pandas.errors.ParserError as error:
            reason = " ".join(str(error).split()).split("C error: ")[-1].replace("Expected", "expected")
            raise ValueError(
                f"{file} must have rows of one length and closed quotes: {reason}. "
                "Check that line and the separator."
            ) from None


def _read_parquet(path: Path, label: str | None) -> Contents:
    pandas = _pandas(".parquet")
    with _explained(path):
        try:
            frame = pandas.read_parquet(path, engine="pyarrow")
        except (ValueError, NotImplementedError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ValueError(f"{path} is not a Parquet file that can be read: {reason}.") from None
    names, repeated = unique([str(name) for name in frame.columns])
    frame.columns = names
    notes = [f"Repeated column names got numbers: {listed(repeated)}."] if repeated else []
    _check_label(label, names, str(path))
    labels = None
    if label is not None:
        column = _column(label, frame.pop(label))
        labels = _as_labels(column.values) if column.kind == "text" else column.values
        if column.kind == "numbers":
            labels = _whole(labels)
    return Contents([_column(name, frame[name]) for name in frame], len(frame), labels, notes)


def _column(name: str, series: Any) -> Column:
    """Sort a pandas Series into one of our kinds."""
    from pandas.api.types import (  # type: ignore[import-untyped]
        infer_dtype,
        is_datetime64_any_dtype,
        is_numeric_dtype,
        is_timedelta64_dtype,
    )

    if series.dtype == "category":
        series = series.astype(object)
    if is_numeric_dtype(series.dtype):
        return Column(name, "numbers", series.to_numpy(np.float64, na_value=np.nan))
    held = infer_dtype(series, skipna=True)
    if held in ("integer", "floating", "decimal", "mixed-integer-float", "empty"):
        return Column(
            name, "numbers", series.astype(object).where(series.notna(), np.nan).to_numpy(np.float64)
        )
    if held in ("string", "boolean", "mixed-integer"):
        return Column(name, "text", _text(series))
    dates = is_datetime64_any_dtype(series.dtype) or is_timedelta64_dtype(series.dtype)
    kind: Literal["dates", "other"] = "dates" if dates or held in ("date", "datetime", "time") else "other"
    return Column(name, kind, series.astype(str).to_numpy(object))


def _text(series: Any) -> NDArray[Any]:
    """Return str without spaces around it, None where it is missing."""
    cells = [
        None if absent else str(cell).strip() for cell, absent in zip(series, series.isna(), strict=True)
    ]
    return np.array([cell or None for cell in cells], dtype=object)


def _as_labels(text: NDArray[Any]) -> NDArray[Any]:
    """Return labels as numbers if all of them are and read the same as numbers, else as text."""
    told = [cell for cell in text if cell is not None]
    try:
        if len(told) == len(text) and all(str(int(cell)) == cell for cell in told):
            return np.array([int(cell) for cell in told], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        # Numbers that start with zeros are names.
        if told and not any(re.match(r"[-+]?0\d", cell) for cell in told):
            return np.array([np.nan if cell is None else float(cell) for cell in text])
    except ValueError:
        pass
    return np.array([cell or "" for cell in text], dtype=object)


def _whole(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Return whole numbers as integers, others as they are."""
    exact = np.abs(numbers) < 2.0**53
    return numbers.astype(np.int64) if exact.all() and (numbers == np.round(numbers)).all() else numbers


def _read_numpy(path: Path, label: str | None) -> Contents:
    with _explained(path), open(path, "rb") as handle:
        try:
            # Never a pickle: it could run anything.
            loaded = np.load(handle, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                arrays = {"X": loaded}
            else:
                with loaded:
                    arrays = {key: loaded[key] for key in loaded}
        except ValueError as error:
            objects = "Object arrays" in str(error)
            reason = "it holds Python objects" if objects else "it is broken or in another format"
            raise ValueError(
                f"{path} is not a NumPy file that can be read: {reason}. Save plain numbers with numpy.save."
            ) from None
    X = _points(path, arrays)
    n, d = X.shape
    names = [str(name) for name in arrays.get("names", ())]
    if len(names) != d or len(set(names)) != d:
        names = [f"column{j}" for j in range(d)]
    columns = [Column(name, "numbers", X[:, j]) for j, name in enumerate(names)]
    notes = []
    if label is None and "y" in arrays and path.suffix.lower() == ".npz":
        notes.append("The array y holds the labels.")
        return Contents(columns, n, _label_array(path, "y", arrays, n), notes)
    if label is not None and label not in names and label != "X" and label in arrays:
        return Contents(columns, n, _label_array(path, label, arrays, n), notes)
    _check_label(label, names, str(path))
    labels = next((_whole(column.values) for column in columns if column.name == label), None)
    return Contents([column for column in columns if column.name != label], n, labels, notes)


def _points(path: Path, arrays: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    tables = {key: array for key, array in arrays.items() if array.ndim == 2}
    key = "X" if "X" in arrays else next(iter(tables), "")
    if "X" not in arrays and len(tables) != 1:
        shapes = listed([f"{key} {array.shape}" for key, array in arrays.items()]) or "nothing"
        raise ValueError(
            f"{path} must hold an array called X or exactly one 2-D array, got {shapes}. "
            "Save the table with numpy.savez(file, X=table)."
        )
    X = arrays[key]
    if X.ndim != 2:
        raise ValueError(
            f"{path} must hold a 2-D array with points as rows, got {X.ndim}-D of shape {X.shape}. "
            "Reshape it before numpy.save."
        )
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{path} must hold real numbers, got dtype {X.dtype}. Convert it before numpy.save.")
    with np.errstate(over="ignore"):
        return X.astype(np.float64)


def _label_array(path: Path, key: str, arrays: dict[str, NDArray[Any]], n: int) -> NDArray[Any]:
    labels = arrays[key]
    if labels.shape != (n,):
        raise ValueError(
            f"The array {key} of {path} must have one label for each of the {n} rows, "
            f"got shape {labels.shape}."
        )
    if labels.dtype.kind in "fiu":
        return labels
    return labels.astype(str).astype(object)


def _check_label(label: str | None, names: list[str], file: str) -> None:
    if label is not None and label not in names:
        raise ValueError(no_column(label, names, file))


def no_column(name: str, names: list[str], file: str) -> str:
    """Say that there is no such column and which there are.

    Parameters
    ----------
    name : str
        What was asked for.
    names : list of str
        What there is.
    file : str
        Where.

    Returns
    -------
    text : str
        Two sentences.

    Examples
    --------
    >>> no_column("specis", ["length", "species"], "iris.csv")
    'iris.csv has no column specis. Did you mean species?'
    """
    near = get_close_matches(name, names, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Its columns are {listed(names, 20)}."
    return f"{file} has no column {name}. {hint}"
