"""A file → its columns, by its extension.

CSV, TSV and Parquet are read by pandas, which is imported when one of them is read:
``pip install "shopca-rs[cli]"``. NumPy's formats need no extra package.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import stat
import sys
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

from .columns import Contents
from .memory import available, check_fits
from .numpy_files import read_numpy
from .parquet_files import read_parquet
from .text_files import TextOptions, read_text

_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_BINARY = (".parquet", ".npy", ".npz")
_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_KNOWN = ".csv, .tsv (also .gz, .bz2 or .xz), .parquet, .npy, .npz or .mtx"
_CHUNK_BYTES = 2**20


def read_file(
    path: str | Path, options: TextOptions, *, label: str | None = None, drop: Collection[str] = ()
) -> Contents:
    """Read a file by its extension.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, Parquet, .npy or .npz; "-" is CSV from standard input.
    options : TextOptions
        What is known about a text table.
    label : str, optional
        The column of labels; in a .npz file also the name of an array.
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
    if str(path) == "-":
        with explained("Standard input"):
            handle = _held(sys.stdin.buffer, "Standard input")
            return read_text(handle, "Standard input", options, label=label, drop=drop)
    path = Path(path)
    with explained(path):
        check_there(path)
        suffix = path.suffix.lower()
        if suffix == ".parquet":
            return read_parquet(path, options, label=label, drop=drop)
        if suffix in _BINARY:
            return read_numpy(path, label)
        opener: Callable[..., Any] = open
        if suffix in _PACKED:
            opener = _PACKED[suffix]
            suffix = path.with_suffix("").suffix.lower()
        if suffix not in _TEXT and options.separator is None:
            raise ValueError(
                f"{path} must end in {_KNOWN}, got {path.suffix or 'no extension'}. "
                "Give --separator to read a text table with another extension."
            )
        with opener(path, "rb") as opened:
            # A pipe cannot be read twice.
            handle = opened if opened.seekable() else _held(opened, str(path))
            usual = _TEXT.get(suffix, ",")
            return read_text(handle, str(path), options, label=label, drop=drop, usual=usual)


def check_there(path: Path) -> None:
    """Raise an error that says what to do if a path is not a file."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        try:
            names = [file.name for file in path.parent.iterdir()]
        except OSError:
            names = []
        near = get_close_matches(path.name, names, n=1)
        hint = f"Did you mean {path.with_name(near[0])}?" if near else "Check the name and the folder."
        raise FileNotFoundError(f"There is no file {path}. {hint}") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder. Give the name of a file.")
    if not stat.S_ISREG(mode) and path.suffix.lower() in _BINARY:
        raise ValueError(
            f"{path} is a pipe or a device, and only text tables can be read from one. Give a file."
        )


@contextmanager
def explained(file: str | Path) -> Iterator[None]:
    """Name the file in errors of the system or of a library."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{file} is broken or not what its extension says: {error}.") from None
    except OSError as error:
        if error.errno is None and not isinstance(error, io.UnsupportedOperation):
            # Our errors have a message and no errno. So have those of bz2, but they do not name the file.
            if str(file) in str(error):
                raise
            raise ValueError(f"{file} is broken or not what its extension says: {error}.") from None
        if error.errno == errno.EACCES:
            raise PermissionError(f"{file} cannot be read: permission denied.") from None
        raise OSError(f"{file} cannot be read: {error.strerror or error}.") from None


def _held(stream: BinaryIO, file: str) -> BinaryIO:
    """Read a pipe into memory."""
    held, limit = io.BytesIO(), available()
    while chunk := stream.read(_CHUNK_BYTES):
        held.write(chunk)
        check_fits(held.tell(), file, limit)
    held.seek(0)
    return held
