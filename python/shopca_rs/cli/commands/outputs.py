"""The files a command writes: checked before the work, and replaced all together at its end."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ...atomic_files import as_target, replacing
from .messages import say
from .results import FORMATS, Result, check_format, print_result, write_result

Draw = Callable[[Any], object]


def writing(result: str) -> ArgumentParser:
    """Return the options for the output.

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
        help=f"{result}: {', '.join(FORMATS)}, or - for CSV on standard output (default: - if there is no "
        "other output)",
    )
    group.add_argument(
        "--plot", metavar="FILE", help="plot of the result: .png, .svg, .pdf (needs matplotlib)"
    )
    return parser


def check_outputs(args: Namespace, *others: str | None) -> None:
    """Check the outputs before the computation, and choose the default one.

    Parameters
    ----------
    args : Namespace
        The arguments.
    *others : str or None
        More files to be written, whose extensions the command has checked.

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
    if getattr(args, "explore", None) is not None:
        _check_page(args.explore)
    check_apart(args, args.output, args.plot, *others)


def check_apart(args: Namespace, *outputs: str | None) -> None:
    """Check that files can be written, each to a different path and none over the table.

    Parameters
    ----------
    args : Namespace
        The arguments.
    *outputs : str or None
        The files; "-" is standard output.

    Raises
    ------
    OSError, ValueError
        With one sentence that says what to do.
    """
    paths = [path for path in outputs if path not in (None, "-")]
    targets = [as_target(path) for path in paths]
    for j, (path, target) in enumerate(zip(paths, targets, strict=True)):
        if args.file != "-" and str(target) == os.path.realpath(args.file):
            raise ValueError(f"{path} is the file to be read. Give the output another name.")
        if target in targets[:j]:
            raise ValueError(f"{path} would be written twice. Give each output its own name.")


def write_outputs(
    args: Namespace, result: Result, draw: Draw, others: dict[str, Callable[[Path], object]] | None = None
) -> None:
    """Write all files, replacing existing ones only when all are complete; then standard output.

    Parameters
    ----------
    args : Namespace
        The arguments.
    result : Result
        The numbers.
    draw : callable
        Draws the picture on an empty matplotlib Figure.
    others : dict, optional
        For each further file, a callable that writes it to a given path.
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
    from ...plotting import as_pyplot

    as_pyplot()
    from matplotlib.figure import Figure

    known = Figure().canvas.get_supported_filetypes()
    if Path(path).suffix.lower().removeprefix(".") not in known:
        raise ValueError(f"{path} must end in .png, .svg, .pdf or another image format of matplotlib.")


def _check_page(path: str) -> None:
    from ...explorer.html_pages import plotly_source

    plotly_source()
    check_html(path, "the explorer")


def check_html(path: str, what: str) -> None:
    """Reject a file name without the extension of a web page.

    Parameters
    ----------
    path : str
        The file.
    what : str
        What it is.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path} must end in .html: {what} is a page for a browser.")


def _save_picture(draw: Draw, path: Path) -> None:
    from matplotlib.figure import Figure

    # Without pyplot: no window, no display and nothing to close.
    figure = Figure(figsize=(7, 5), layout="constrained")
    draw(figure)
    figure.savefig(path, dpi=150)
