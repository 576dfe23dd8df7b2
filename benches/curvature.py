"""Curvature of point clouds, measured: everything that docs/curvature.md shows.

``python benches/curvature.py`` runs all parts but ``--automatic``; a switch runs one part alone. Tables go
to ``--out`` as Markdown, pictures as PNG; ``--docs`` also puts both into docs/curvature.md. pymeshlab, libigl
and trimesh (with rtree) take part where they are installed. Real tables other than digits are read from
``--data`` or from ``$SHOPCA_DATA``, folders of .npz files separated as in $PATH. Times need a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import rivals
from curvature_accuracy import accuracy, best
from curvature_cases import FULL, SMALL
from curvature_comparison import comparison
from curvature_convergence import convergence
from curvature_report import Page
from curvature_speed import automatic, speed
from curvature_tables import tables

DOCUMENT = Path(__file__).parents[1] / "docs" / "curvature.md"
PARTS = {
    "accuracy": "errors on closed forms with default settings",
    "best": "the same, and the best of some fixed settings beside it",
    "convergence": "pictures and slopes in n, k, noise and m, and of S̄",
    "comparison": "mean curvature beside pymeshlab, libigl and trimesh",
    "tables": "digits, single cells and pixels",
    "speed": "against the NumPy twin, against the neighbour search, and memory",
}
# Tables of times, which say so if the machine was not quiet.
TIMED = {"speed", "search", "automatic"}


def main(arguments: list[str] | None = None) -> Page:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, text in PARTS.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument(
        "--automatic",
        type=int,
        nargs="?",
        const=20_000,
        metavar="n",
        help="the whole call on a noisy torus against the NumPy twin, which takes minutes",
    )
    parser.add_argument("--data", type=Path, nargs="+", default=None, help="folders of .npz files")
    parser.add_argument("--out", type=Path, default=Path("build/curvature"), help="folder of the output")
    parser.add_argument("--docs", action="store_true", help="put the output into docs/curvature.md too")
    parser.add_argument("--small", action="store_true", help="everything tiny, to see that it runs")
    options = parser.parse_args(arguments)
    asked = {name for name in PARTS if getattr(options, name)}
    if not asked and options.automatic is None:
        asked = set(PARTS)
    folders = options.data or [Path(p) for p in os.environ.get("SHOPCA_DATA", "").split(os.pathsep) if p]
    sizes, page = SMALL if options.small else FULL, Page()
    before = rivals.busy() if "speed" in asked or options.automatic else 0.0
    with warnings.catch_warnings():
        # Points that are flagged are counted in the tables.
        warnings.simplefilter("ignore")
        if asked & {"accuracy", "best"}:
            outcomes = accuracy(page, sizes)
            if "best" in asked:
                best(page, sizes, outcomes)
        if "convergence" in asked:
            convergence(page, sizes, options.out)
        if "comparison" in asked:
            comparison(page, sizes)
        if "tables" in asked:
            tables(page, sizes, folders)
        if "speed" in asked:
            speed(page, sizes)
        if options.automatic:
            automatic(page, options.automatic)
    if before > 0.05:
        for name in TIMED & set(page.blocks):
            page.note(name, f"Others kept {before:.0%} of the processors busy: do not trust these times.")
    page.save(options.out)
    if options.docs:
        page.fill(DOCUMENT, options.out)
    return page


if __name__ == "__main__":
    main()
