"""The command line: ``shopca embed data.csv -o embedding.csv``.

Each command imports its heavy dependencies only when it runs.
"""

from __future__ import annotations

import io
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from .. import __version__
from .commands.messages import one_line, warnings_said

# Modules of `shopca_rs.cli.commands`, in the order of the help.
COMMANDS = (
    "embed",
    "curvature",
    "report",
    "reproduce",
)

DESCRIPTION = """\
SHOPCA, Shape Operator PCA: PCA of a covariance that is corrected by how the data spread around
each point.
"""

EPILOG = """\
start with:
  shopca embed data.csv -o embedding.csv --plot embedding.png
  shopca embed --help

exit codes: 0 success, 2 invalid arguments or data, 130 interrupted
"""


class _Parser(ArgumentParser):
    """Errors in one line, like those of the commands."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {one_line(message)} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if None.

    Returns
    -------
    code : int
        0 success, 2 invalid arguments or data, 130 interrupted, 141 standard output was closed early.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The help contains α and λ, which some locales cannot encode.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at exit and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    return code


def _run(argv: Sequence[str] | None) -> int:
    modules: dict[str, Any] = {name: import_module(f".commands.{name}", __package__) for name in COMMANDS}
    parser = _Parser(
        prog="shopca",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"shopca-rs {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for module in modules.values():
        module.add_parser(subparsers)
    try:
        args = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    return _reported(modules[args.command].run, args)


def _reported(run: Any, args: Namespace) -> int:
    """Run a command; print an error that the user can fix as one line."""
    try:
        with warnings_said(args):
            run(args)
    except BrokenPipeError:
        raise
    except (ValueError, OSError, ImportError) as error:
        reason = one_line(error)
    except MemoryError:
        reason = "There is not enough memory for this table. Give fewer rows or columns."
    else:
        return 0
    print(f"shopca {args.command}: error: {reason}", file=sys.stderr)
    return 2
