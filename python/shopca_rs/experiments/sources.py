"""Where the rows of a data set come from: scikit-learn itself, a folder of .npz files, or OpenML."""

from __future__ import annotations

import csv
import hashlib
import socket
import urllib.request
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import numpy as np
from numpy.typing import NDArray

from .catalogue import CATALOGUE, DataSet

PATIENCE = 20.0  # seconds that OpenML may stay silent before it counts as out of reach


class Missing(Exception):  # noqa: N818 - an outcome to be listed, not a fault
    """The data set cannot be loaded; the message says why."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """The rows of a data set.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features in float64; NaN where a value is missing.
    y : ndarray of int, shape (n,)
        Classes, numbered from 0 in sorted order.
    source : str
        Where the rows come from.
    notes : tuple of str
        What a reader of the results should know of them, a sentence each.
    matches_paper : bool
        Whether the rows are those of the paper, as far as the sizes and the folder's manifest tell.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    source: str
    notes: tuple[str, ...] = ()
    matches_paper: bool = True


def load(data_set: DataSet, folder: Path | None = None, *, openml: bool = True) -> Loaded:
    """Load a data set from the first source that has it.

    The sources are scikit-learn's built-in data sets, the folder, OpenML, in this order.

    Parameters
    ----------
    data_set : DataSet
        An entry of the catalogue.
    folder : Path, optional
        Folder with a file `<name>.npz` per data set, each with the arrays X and y. A `manifest.csv` in it,
        with the columns name, matches_paper, source (or package) and notes (or note), tells where the files
        are from.
    openml : bool, default=True
        Whether to ask OpenML for what the others do not have. Downloads are kept in scikit-learn's data
        folder. Once OpenML is out of reach, only what is kept there is used for the rest of the process.

    Returns
    -------
    Loaded
        Its rows; a fixed stratified sample of them where the paper took a sample.

    Raises
    ------
    Missing
        If no source has it, or the one that has it cannot be read.

    Examples
    --------
    >>> from shopca_rs.experiments.catalogue import CATALOGUE
    >>> from shopca_rs.experiments.sources import load
    >>> iris = load(CATALOGUE[0])
    >>> iris.X.shape, iris.source
    ((150, 4), "scikit-learn's load_iris")
    """
    if data_set.builtin is not None:
        return _compared(_from_scikit_learn(data_set.builtin), data_set)
    tried = "No folder of .npz files was given"
    if folder is not None:
        path = folder / f"{data_set.name}.npz"
        if path.exists():
            return _compared(_sampled(_from_file(path), data_set), data_set)
        tried = f"{path.name} is not in the given folder"
    if not openml or not data_set.in_paper:
        raise Missing(f"{tried}, and downloads from OpenML are off.")
    try:
        return _compared(_sampled(_from_openml(data_set), data_set), data_set)
    except Missing as missing:
        raise Missing(f"{tried}, and {missing}") from missing.__cause__


def listed(folder: Path) -> list[DataSet]:
    """List the data sets of a folder of its own, none of them the paper's.

    Parameters
    ----------
    folder : Path
        Folder with a file `<name>.npz` per data set and a `manifest.csv` with the columns name, n, d and
        classes.

    Returns
    -------
    list of DataSet
        In the order of the manifest.

    Raises
    ------
    ValueError
        If the manifest is missing or lacks a column, or if a name is one of the paper's.
    """
    found = []
    for name, row in _manifest(folder).items():
        try:
            n, d, classes = (int(row[column] or "") for column in ("n", "d", "classes"))
        except (KeyError, ValueError):
            raise ValueError(
                f"manifest.csv in {folder} must have the columns name, n, d and classes with whole numbers "
                f"in the last three; the row of {name or 'no name'} does not."
            ) from None
        if any(name == data_set.name for data_set in CATALOGUE):
            raise ValueError(f"{name} in {folder} is the name of one of the paper's data sets. Rename it.")
        found.append(DataSet(name, n, d, classes, ()))
    if not found:
        raise ValueError(f"{folder} must hold a manifest.csv that lists its data sets, got none.")
    return found


def fingerprint(loaded: Loaded) -> str:
    """Return a short name for the exact numbers of a data set, the same in every process.

    Parameters
    ----------
    loaded : Loaded
        Rows as `load` returns them.

    Returns
    -------
    str
        32 hexadecimal digits that depend on X and y, not on source and notes.

    Examples
    --------
    >>> from shopca_rs.experiments.catalogue import CATALOGUE
    >>> from shopca_rs.experiments.sources import fingerprint, load
    >>> len(fingerprint(load(CATALOGUE[0])))
    32
    """
    digest = hashlib.blake2b(repr((loaded.X.shape, loaded.y.shape)).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(loaded.X, dtype="<f8").data)
    digest.update(np.ascontiguousarray(loaded.y, dtype="<i8").data)
    return digest.hexdigest()


def _from_scikit_learn(function: str) -> Loaded:
    from sklearn import datasets  # type: ignore[import-untyped]

    X, y = getattr(datasets, function)(return_X_y=True)
    return Loaded(np.ascontiguousarray(X, dtype=np.float64), _codes(y), f"scikit-learn's {function}")


def _from_file(path: Path) -> Loaded:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            X, y = (np.asarray(arrays[key]) for key in ("X", "y"))
    # A damaged file fails in zip, in zlib or in NumPy, each in its own ways, and must not stop the others.
    except Exception as error:
        raise Missing(
            f"{path.name} must be an .npz file with the arrays X and y, of numbers and without pickled "
            f"objects: {_words(error)}."
        ) from error
    X = _checked(X, y, path.name)
    manifest = _manifest(path.parent).get(path.stem, {})
    source = f"{path.name} in the given folder"
    if origin := (manifest.get("source") or manifest.get("package") or "").strip():
        source += f", from {origin}"
    notes = tuple(note for note in [(manifest.get("notes") or manifest.get("note") or "").strip()] if note)
    matches = (manifest.get("matches_paper") or "yes").strip().lower() == "yes"
    return Loaded(X, _codes(y), source, notes, matches)


def _manifest(folder: Path) -> dict[str, dict[str, str | None]]:
    path = folder / "manifest.csv"
    if not path.exists():
        return {}
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return {row.get("name") or "": row for row in csv.DictReader(file)}


def _checked(X: NDArray[Any], y: NDArray[Any], where: str) -> NDArray[np.float64]:
    """Return X as float64 if X and y can be points and their classes."""
    if X.dtype.kind not in "fiub":
        raise Missing(f"X in {where} must hold numbers, got dtype {X.dtype}.")
    if X.ndim != 2 or X.size == 0:
        raise Missing(f"X in {where} must be 2-D with points as rows and not empty, got shape {X.shape}.")
    if y.shape != (len(X),):
        raise Missing(f"y in {where} must hold one class for each of {len(X)} rows, got shape {y.shape}.")
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise Missing(f"y in {where} must hold one class for each row, got NaN.")
    X = np.ascontiguousarray(X, dtype=np.float64)
    if np.isinf(X).any():
        raise Missing(f"X in {where} must hold finite numbers, or NaN where one is missing, got infinity.")
    return X


def _from_openml(data_set: DataSet) -> Loaded:
    global _unreachable
    from sklearn.datasets import fetch_openml  # type: ignore[import-untyped]

    what = f"OpenML {data_set.name}, version {data_set.version}"
    try:
        # It warns of retries, of downloads to be repeated and of withdrawn versions. Only the last matter to
        # a reader of the results, and they get a note.
        with _patience(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bunch = fetch_openml(data_set.name, version=data_set.version, n_retries=1, delay=0.5)
    except HTTPError as error:
        error.close()  # it holds the connection, and Python 3.14 warns of one left open
        raise Missing(
            f"{what}, could not be loaded: the server answered {error.code} {error.reason}."
        ) from error
    except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
        if _unreachable is None:
            _unreachable = _words(error.reason if isinstance(error, URLError) else error)
        raise Missing(f"OpenML could not be reached: {_unreachable}.") from error
    except ImportError as error:
        raise Missing(f"{what}, needs pandas to be read. Install it with: pip install pandas.") from error
    # What OpenML does not have, or has in a form that cannot be parsed, must not stop the others either.
    except Exception as error:
        raise Missing(f"{what}, could not be loaded: {_words(error)}.") from error
    if np.ndim(bunch.target) != 1:
        raise Missing(f"{what}, must have one target column, got {bunch.target_names}.")
    table, y = bunch.data, np.asarray(bunch.target)
    if hasattr(table, "toarray"):
        X = table.toarray()
    else:
        X = np.empty(table.shape)
        for column in range(table.shape[1]):
            X[:, column] = _numbers(table.iloc[:, column])
    status = bunch.details.get("status")
    notes = () if status == "active" else (f"OpenML lists this version as {status}.",)
    return Loaded(_checked(X, y, what), _codes(y), what, notes)


# Why OpenML is out of reach, once it is: asking again for each of 50 data sets could take an hour.
_unreachable: str | None = None


@contextmanager
def _patience() -> Iterator[None]:
    """Let downloads fail in time, and at once where OpenML is known to be out of reach.

    `fetch_openml` takes no time limit, and does not say what it has in its cache. So the limit is set for
    all sockets, and the network is closed where only the cache is to be used, both for as long as it runs.
    """
    timeout, opener = socket.getdefaulttimeout(), getattr(urllib.request, "_opener", None)
    socket.setdefaulttimeout(PATIENCE)
    if _unreachable is not None:
        urllib.request.install_opener(urllib.request.build_opener(_Closed()))
    try:
        yield
    finally:
        socket.setdefaulttimeout(timeout)
        urllib.request.install_opener(opener)


class _Closed(urllib.request.BaseHandler):
    """A network on which every request fails."""

    def default_open(self, request: urllib.request.Request) -> None:
        # Not a URLError, after which fetch_openml would wait and ask again.
        raise ConnectionError(_unreachable)


def _numbers(column: Any) -> NDArray[np.float64]:
    """Turn a column of a data frame into numbers: a category into its place in sorted order."""
    if column.dtype.kind in "fiub":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    codes = column.astype("category").cat.codes.to_numpy(dtype=np.float64)
    return np.where(codes < 0, np.nan, codes)


def _codes(y: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def _sampled(loaded: Loaded, data_set: DataSet) -> Loaded:
    """Take as many rows as the paper did, where it took a sample."""
    rows = len(loaded.X)
    if not data_set.sampled or rows <= data_set.n:
        return loaded
    from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]

    try:
        kept, _ = train_test_split(np.arange(rows), train_size=data_set.n, stratify=loaded.y, random_state=0)
    except ValueError as error:
        raise Missing(f"{loaded.source}, cannot be sampled class by class: {_words(error)}.") from error
    kept.sort()
    note = (
        f"A fixed stratified sample of {data_set.n} of {rows} rows; which rows the paper took is not known."
    )
    return replace(loaded, X=loaded.X[kept], y=loaded.y[kept], notes=(*loaded.notes, note))


def _compared(loaded: Loaded, data_set: DataSet) -> Loaded:
    """Note where the size is not the paper's."""
    found = (*loaded.X.shape, len(np.unique(loaded.y)))
    expected = (data_set.n, data_set.d, data_set.classes)
    if found == expected:
        return loaded
    size = "{} × {} with {} classes"
    lister = "the paper" if data_set.in_paper else "the manifest"
    note = f"{size.format(*found)}; {lister} has {size.format(*expected)}."
    return replace(loaded, notes=(*loaded.notes, note), matches_paper=False)


def _words(error: object) -> str:
    """Return the first line of an error, without its full stop."""
    text = str(error).strip().partition("\n")[0].rstrip(".")
    return text or type(error).__name__
