"""NumPy's .npy and .npz → columns. Sizes are read from the headers before any data."""

from __future__ import annotations

import math
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .columns import Column, Contents, check_label, listed, whole
from .memory import check_fits

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_FLOAT = np.dtype(np.float64)


@dataclass(frozen=True)
class _Array:
    """What the header of an array says, or why there is none."""

    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] = _FLOAT
    fault: str = ""


def read_numpy(path: Path, label: str | None = None) -> Contents:
    """Read a .npy or .npz file.

    Parameters
    ----------
    path : Path
        The file.
    label : str, optional
        The column of labels, or the name of an array of them.

    Returns
    -------
    contents : Contents
        Its columns.

    Raises
    ------
    OSError, ValueError
        With one sentence that says what to do.
    """
    with open(path, "rb") as handle:
        stored = _Stored(path, handle)
        X = stored.points()
        n, d = X.shape
        names = stored.names(d)
        columns = [Column(name, "numbers", X[:, j]) for j, name in enumerate(names)]
        notes = [f"Left out files that are not arrays: {listed(stored.foreign)}."] if stored.foreign else []
        if label is None and "y" in stored.arrays and stored.archive is not None:
            return Contents(columns, n, stored.labels("y", n), [*notes, "The array y holds the labels."])
        if label is not None and label not in names and label != "X" and label in stored.arrays:
            return Contents(columns, n, stored.labels(label, n), notes)
    check_label(label, names, str(path))
    labels = next((whole(column.values) for column in columns if column.name == label), None)
    return Contents([column for column in columns if column.name != label], n, labels, notes)


class _Stored:
    """The arrays of a file by their names; the array of a .npy file is called X."""

    def __init__(self, path: Path, handle: BinaryIO) -> None:
        self.path, self.handle = path, handle
        self.archive: zipfile.ZipFile | None = None
        self.members: dict[str, zipfile.ZipInfo] = {}
        self.foreign: list[str] = []
        size = handle.seek(0, 2)
        handle.seek(0)
        start = handle.read(len(npy.MAGIC_PREFIX))
        handle.seek(0)
        if start.startswith(_ZIP):
            self._open_archive()
        elif start == npy.MAGIC_PREFIX:
            self.arrays = {"X": _header(handle, size)}
        else:
            raise self._refusal("it is broken or in another format")

    def _open_archive(self) -> None:
        try:
            self.archive = zipfile.ZipFile(self.handle)
            infos = self.archive.infolist()
        except Exception as error:
            raise self._refusal(f"its zip archive is broken ({_reason(error)})") from None
        self.arrays = {}
        for info in infos:
            if info.filename.endswith("/"):
                continue
            if not info.filename.endswith(".npy"):
                self.foreign.append(info.filename)
                continue
            key = info.filename.removesuffix(".npy")
            self.members[key] = info
            self.arrays[key] = self._member(info)

    def _member(self, info: zipfile.ZipInfo) -> _Array:
        if info.flag_bits & 1:
            return _Array(fault="it is encrypted")
        if info.compress_type not in _COMPRESSIONS:
            return _Array(fault=f"its compression is not supported by zipfile ({info.compress_type})")
        assert self.archive is not None
        try:
            with self.archive.open(info) as member:
                return _header(member, info.file_size)
        except Exception as error:
            return _Array(fault=f"it is broken ({_reason(error)})")

    def _refusal(self, reason: str, key: str = "") -> ValueError:
        which = f"The array {key} of {self.path}" if key and self.archive is not None else self.path
        return ValueError(f"{which} cannot be read: {reason}. Save plain numbers with numpy.save.")

    def read(self, key: str) -> NDArray[Any]:
        """Read an array whose header is sound and whose size fits in memory."""
        array = self.arrays[key]
        if array.fault:
            raise self._refusal(array.fault, key)
        count = math.prod(array.shape)
        check_fits(count * (array.dtype.itemsize + 8), str(self.path))
        try:
            with warnings.catch_warnings():
                # Headers written by Python 2 are read like others.
                warnings.simplefilter("ignore")
                if self.archive is None:
                    self.handle.seek(0)
                    # Never a pickle: it could run any code.
                    return npy.read_array(self.handle, allow_pickle=False)
                with self.archive.open(self.members[key]) as member:
                    read: NDArray[Any] = npy.read_array(member, allow_pickle=False)
                    # The checksum is compared at the end.
                    member.read(1)
                    return read
        except MemoryError:
            raise
        except Exception as error:
            raise self._refusal(f"it is broken ({_reason(error)})", key) from None

    def points(self) -> NDArray[np.float64]:
        """Read the table."""
        tables = [key for key, array in self.arrays.items() if not array.fault and len(array.shape) == 2]
        if "X" not in self.arrays and len(tables) != 1:
            for key, array in self.arrays.items():
                if array.fault and not tables:
                    raise self._refusal(array.fault, key)
            shapes = listed([f"{key} {array.shape}" for key, array in self.arrays.items() if not array.fault])
            raise ValueError(
                f"{self.path} must hold an array called X or exactly one 2-D array, "
                f"got {shapes or 'nothing'}. Save the table with numpy.savez(file, X=table)."
            )
        key = "X" if "X" in self.arrays else tables[0]
        array = self.arrays[key]
        if array.fault:
            raise self._refusal(array.fault, key)
        if len(array.shape) != 2:
            raise ValueError(
                f"{self.path} must hold a 2-D array with points as rows, got {len(array.shape)}-D of shape "
                f"{array.shape}. Reshape it before numpy.save."
            )
        if array.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.path} must hold real numbers, got dtype {array.dtype}. Convert it before numpy.save."
            )
        if 0 in array.shape:
            raise ValueError(
                f"{self.path} must hold at least one number, got an array of shape {array.shape}."
            )
        X = self.read(key)
        with np.errstate(all="ignore"):
            narrow = X.astype(np.float64)
        if array.dtype.itemsize > 8 and (np.isinf(narrow) & ~np.isinf(X)).any():
            raise ValueError(
                f"{self.path} must hold numbers up to 1.8e308 (float64), got {np.abs(X).max()!s}. Rescale it."
            )
        return narrow

    def names(self, d: int) -> list[str]:
        """Return the names of the columns: those in the file if there are d distinct ones."""
        array = self.arrays.get("names", _Array())
        if array.shape == (d,) and array.dtype.kind in "US" and not array.fault:
            names = list(_as_text(self.read("names"), self._refusal))
            if len(set(names)) == d:
                return names
        return [f"column{j}" for j in range(d)]

    def labels(self, key: str, n: int) -> NDArray[Any]:
        """Read one label for each row."""
        array = self.arrays[key]
        if not array.fault and array.shape != (n,):
            raise ValueError(
                f"The array {key} of {self.path} must have one label for each of the {n} rows, "
                f"got shape {array.shape}."
            )
        labels = self.read(key)
        return labels if labels.dtype.kind in "fiu" else _as_text(labels, self._refusal)


def _as_text(array: NDArray[Any], refusal: Any) -> NDArray[Any]:
    try:
        if array.dtype.kind == "S":
            return np.array([cell.decode() for cell in array.tolist()], dtype=object)
        text = array.astype(str)
        # Invalid code points and lone surrogates cannot be encoded.
        return np.array([cell.encode().decode() for cell in text.tolist()], dtype=object)
    except (ValueError, SystemError) as error:
        raise refusal(f"it has invalid text ({_reason(error)})") from None


def _header(handle: IO[bytes], size: int) -> _Array:
    """Read the header of an array that takes `size` bytes with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = npy.read_magic(handle)
            # Version 3 differs from 2 in the encoding of field names only.
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(handle)
    except Exception as error:
        # NumPy evaluates the header as Python code: a broken one may raise anything.
        if isinstance(error, zipfile.BadZipFile | zlib.error | OSError):
            raise
        return _Array(fault="its header is broken")
    if dtype.hasobject:
        return _Array(fault="it holds Python objects")
    if not all(type(length) is int and length >= 0 for length in shape):
        return _Array(fault=f"its header gives the shape {shape}")
    needed, held = math.prod(shape) * dtype.itemsize, size - handle.tell()
    if needed > held:
        return _Array(fault=f"its header promises {needed} bytes of data, but it holds {held}")
    return _Array(shape, dtype)


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line = " ".join(text.split()).rstrip(".")
    return line if 0 < len(line) <= 120 else type(error).__name__
