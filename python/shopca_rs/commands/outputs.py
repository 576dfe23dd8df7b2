"""The files a command writes: checked before the work, and all in place at its end or none."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..writing import as_target, replacing
from .messages import say
from .results import FORMATS, Result, check_format, print_result, write_result

Draw = Callable[[Any], object]


def writing(result: str) -> ArgumentParser:
    """Return the options that say where the result goes.

    Parameters
    ----------
    result : str
        What it is.

    Returns
    -------
    parser : ArgumentParser
        For the argument `parents`.
    """
    parser = ArgumentParser(add_help=False)
    group = parser.add_argument_group("what is written")
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"{result}: {', '.join(FORMATS)}, or - for CSV on standard output (default: -, if nothing else "
        "is to be written)",
    )
    group.add_argument("--plot", metavar="FILE", help="picture of it: .png, .svg, .pdf (needs matplotlib)")
    return parser


def check_outputs(args: Namespace, *others: str | None) -> None:
    """Find out what cannot be written before the long work, and where the result goes by default.

    Parameters
    ----------
    args : Namespace
        The arguments.
    *others : str or None
        More files to be written, of which the command has checked the kind.

    Raises
    ------
    OSError, ValueError, ImportError
        With one sentence that says what to do.
    """
    if args.output is None and args.plot is None and not any(others):
        args.output = "-"
    if args.output is not None:
        check_format(args.output)
    if args.plot is not None:
        _check_picture(args.plot)
    paths = [path for path in (args.output, args.plot, *others) if path not in (None, "-")]
    targets = [as_target(path) for path in paths]
    for j, (path, target) in enumerate(zip(paths, targets, strict=True)):
        if args.file != "-" and target == Path(args.file).resolve():
            raise ValueError(f"{path} is the file to be read. Give the output another name.")
        if target in targets[:j]:
            raise ValueError(f"{path} would be written twice. Give each output its own name.")


def write_outputs(
    args: Namespace, result: Result, draw: Draw, others: dict[str, Callable[[Path], object]] | None = None
) -> None:
    """Write all files, each in the place of an old one only when all are complete; then standard output.

    Parameters
    ----------
    args : Namespace
        The arguments.
    result : Result
        The numbers.
    draw : callable
        Draws the picture on matplotlib Axes.
    others : dict, optional
        For each more file a callable that writes it to the path it is given.
    """
    with ExitStack() as stack:
        if args.output not in (None, "-"):
            note = write_result(result, stack.enter_context(replacing(args.output)))
            if note:
                say(args, note)
        if args.plot is not None:
            _save_picture(draw, stack.enter_context(replacing(args.plot)))
        for path, write in (others or {}).items():
            write(stack.enter_context(replacing(path)))
    if args.output == "-":
        print_result(result)


def _check_picture(path: str) -> None:
    from ..plotting import as_pyplot

    as_pyplot()
    from matplotlib.figure import Figure

    known = Figure().canvas.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise ValueError(f"{path} must end in .png, .svg, .pdf or another kind of picture matplotlib writes.")


def _save_picture(draw: Draw, path: Path) -> None:
    from matplotlib.figure import Figure

    # Not pyplot's: no window, no display and nothing to close.
    figure = Figure(figsize=(7, 5), layout="constrained")
    draw(figure.subplots())
    figure.savefig(path, dpi=150)
