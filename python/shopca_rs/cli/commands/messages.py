"""Messages of a command besides its result: one line each, on standard error."""

from __future__ import annotations

import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager


def one_line(text: object) -> str:
    r"""Return text without line breaks or control characters.

    Parameters
    ----------
    text : object
        An error or a sentence.

    Returns
    -------
    line : str
        The text on one line.

    Examples
    --------
    >>> one_line("two\n  lines")
    'two lines'
    """
    line = " ".join(str(text).split())
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def say(args: Namespace, text: object, *, kind: str = "note") -> None:
    """Write a line to standard error, unless ``--quiet`` was given.

    Parameters
    ----------
    args : Namespace
        The arguments; `command` is the name of the command.
    text : object
        The message.
    kind : str, default="note"
        The prefix of the message.
    """
    if not getattr(args, "quiet", False):
        print(f"shopca {args.command}: {kind}: {one_line(text)}", file=sys.stderr, flush=True)


@contextmanager
def warnings_said(args: Namespace) -> Iterator[None]:
    """Print warnings about the data as notes; suppress those meant for programmers.

    Parameters
    ----------
    args : Namespace
        The arguments.

    Yields
    ------
    None
        While the block runs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = lambda message, *_: say(args, message)
        yield
