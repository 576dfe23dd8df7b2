"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


def as_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a write to `path` would replace, or raise an error that says why it cannot.

    Parameters
    ----------
    path : str or path-like
        A file, existing or not. A symbolic link stands for the file it points to.

    Returns
    -------
    target : Path
        The file itself, in a folder that exists and can be written to.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError, OSError
        With one sentence that says what to do.

    Examples
    --------
    >>> as_target("nowhere/embedding.csv")
    Traceback (most recent call last):
        ...
    FileNotFoundError: nowhere/embedding.csv cannot be written: there is no folder nowhere. Create it first.
    """
    given = Path(path)
    try:
        given.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        loop = error.errno == errno.ELOOP
        reason = "a symbolic link leads back to itself" if loop else error.strerror
        raise OSError(f"{given} cannot be written: {reason}. Give another name.") from None
    target = given.resolve()
    if given.is_dir():
        raise IsADirectoryError(f"{given} cannot be written: it is a folder. Give the name of a file.")
    if not target.parent.is_dir():
        folder = given.parent if target.parent == given.parent.resolve() else target.parent
        raise FileNotFoundError(f"{given} cannot be written: there is no folder {folder}. Create it first.")
    if target.exists() and not target.is_file():
        # Moving a file over a device or a pipe would remove it for everyone who uses it.
        raise OSError(f"{given} cannot be written: it is a device or a pipe. Give the name of a file.")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{given} cannot be written: the file is read-only. Give another name.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            f"{given} cannot be written: its folder is read-only. Give a name in another folder."
        )
    return target


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of an unfinished file; move it to `path` if the block succeeds.

    The unfinished file is in the same folder and has the same suffixes, so that writers choose the same
    format. If the block fails, also by Ctrl-C, `path` stays as it was and the unfinished file is removed. A
    new file gets the permissions `open` would give it, an existing one keeps its permissions.

    Parameters
    ----------
    path : str or path-like
        The file to write or replace.

    Yields
    ------
    unfinished : Path
        Where to write.

    Raises
    ------
    OSError
        If `path` cannot be written; see `as_target`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "answer.txt") as unfinished:
    ...         _ = unfinished.write_text("42")
    ...     [file.name for file in Path(folder).iterdir()]
    ['answer.txt']
    """
    target = as_target(path)
    unfinished = target.with_name(f".{uuid4().hex}{''.join(target.suffixes[-2:])}")
    try:
        yield unfinished
        if target.exists():
            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    except OSError as error:
        # System errors name the unfinished file or no file at all. Others are left as they are.
        if error.errno is None or error.filename not in (None, unfinished, str(unfinished)):
            raise
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        unfinished.unlink(missing_ok=True)
