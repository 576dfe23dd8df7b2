"""The section of the report on the fair protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import difference_figure, figures, prose
from .fair_comparison import MEASURES, PRIMARY_MEASURE, PRIMARY_METHODS, FairTable, Tested, against_pca
from .markdown import table
from .naming import TITLES, Draw, measure_title, p_text
from .protocols import DIMENSIONS
from .scores import ACCURACY, AVERAGE, AVERAGE_OF_ALL, TRUSTWORTHINESS

Panels = Mapping[str, Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]]]

_SIZES = ((0, 200), (200, 500), (500, 2000), (2000, 10**9))
_FEATURES = ((0, 10), (10, 26), (26, 10**9))
_RANKED = (AVERAGE, ACCURACY, "ward_ari", TRUSTWORTHINESS)


@dataclass(frozen=True)
class Compared:
    """All that the section is written from.

    Attributes
    ----------
    tables : dict
        Number of output dimensions → the scores.
    outliers : FairTable
        Scores of the rows left as they were, next to inflated ones.
    fresh : list of str
        Names of the data sets that are not the paper's.
    sizes : dict
        Data set → its rows and features.
    """

    tables: dict[int, FairTable]
    outliers: FairTable
    fresh: list[str]
    sizes: dict[str, tuple[int, int]]

    def parts(self, whole: FairTable) -> list[tuple[str, FairTable]]:
        """Cut a table in two: data sets that are not the paper's, and those that are.

        Parameters
        ----------
        whole : FairTable
            All of them.

        Returns
        -------
        list of (str, FairTable)
            Title and table of the parts that are not empty.
        """
        seen = [name for name in whole.data_sets if name not in self.fresh]
        cut = [("not the paper's", whole.subset(self.fresh)), ("the paper's", whole.subset(seen))]
        return [(title, part) for title, part in cut if part.data_sets]

    def primary(self) -> list[Tested]:
        """Make the tests that were named before the run.

        Returns
        -------
        list of Tested
            Empty if there are only data sets of the paper.
        """
        return against_pca(self.tables[DIMENSIONS[0]].subset(self.fresh), [PRIMARY_MEASURE], PRIMARY_METHODS)


def fair_section(compared: Compared, panels: Panels, draw: Draw) -> str:
    """Write the tests, the means and the pictures of the fair protocol.

    Parameters
    ----------
    compared : Compared
        The scores.
    panels : dict
        Data set → title of the method → its embedding and the classes.
    draw : callable
        Name, function and content of a figure → the Markdown that shows it.

    Returns
    -------
    str
        The section.
    """
    flat = compared.tables[DIMENSIONS[0]]
    if not flat.data_sets:
        return prose.FAIR + "\n\nNo data set has a result for every method yet."
    made = 0
    text = [prose.FAIR]
    if primary := compared.primary():
        count = len(flat.subset(compared.fresh).data_sets)
        text += [
            f"### The primary tests: {count} data sets that are not the paper's",
            _tests(primary),
        ]
    for title, part in compared.parts(flat):
        tested = against_pca(part, MEASURES["fair"])
        made += len(tested)
        text += [
            f"### Two dimensions, {len(part.data_sets)} data sets that are {title}",
            _means(part, tested),
            _beside(tested),
        ]
    for components in DIMENSIONS[1:]:
        for title, part in compared.parts(compared.tables[components]):
            tested = against_pca(part, [AVERAGE, TRUSTWORTHINESS])
            made += len(tested)
            text += [
                f"### {components} dimensions, {len(part.data_sets)} data sets that are {title}",
                _beside(tested),
            ]
    if compared.outliers.data_sets:
        outliers, count = _outliers(compared)
        made += count
        text.append(outliers)
    text += ["### Which map helps on which data", _by_size(compared, draw)]
    for title, part in compared.parts(flat):
        name = "ranking" if title == "the paper's" else "ranking-fresh"
        titles = {
            measure_title(measure): {TITLES[method]: part.values[measure][method] for method in part.methods}
            for measure in _RANKED
        }
        text += [
            f"### Ranking, data sets that are {title}",
            draw(name, figures.ranking, titles),
            prose.RANKING,
        ]
    if panels:
        text += ["### Embeddings", draw("embeddings", figures.embeddings, panels)]
    text += [
        f"{made} paired Wilcoxon tests were made for this section, {len(primary)} of them primary.",
        "### AVG4 by data set",
        _by_data_set(compared),
    ]
    return "\n\n".join(text)


def _tests(tested: Sequence[Tested]) -> str:
    rows = [[TITLES[test.method], *_cells(test), _p(test.adjusted)] for test in tested]
    return table(["method", *_HEAD, "Holm's p"], rows)


def _beside(tested: Sequence[Tested]) -> str:
    """Write AVG4 and trustworthiness beside each other."""
    by_measure = {
        measure: {test.method: test for test in tested if test.measure == measure}
        for measure in (AVERAGE, TRUSTWORTHINESS)
    }
    rows = [
        [TITLES[method], *_cells(test), *_cells(by_measure[TRUSTWORTHINESS][method])]
        for method, test in by_measure[AVERAGE].items()
    ]
    head = [f"{measure_title(AVERAGE)}: {_HEAD[0]}", *_HEAD[1:]]
    return "Differences to PCA.\n\n" + table(
        ["method", *head, f"{measure_title(TRUSTWORTHINESS)}: {_HEAD[0]}", *_HEAD[1:]], rows
    )


_HEAD = ("mean difference (median)", "95 % interval of the mean", "wins / losses / ties", "p")


def _cells(test: Tested) -> list[str]:
    found = test.comparison
    return [
        f"{found.mean:+.4f} ({found.median:+.4f})",
        "{:+.4f} … {:+.4f}".format(*test.interval),
        f"{found.wins} / {found.losses} / {found.ties}",
        _p(found.p),
    ]


def _p(p: float) -> str:
    return p_text(p).removeprefix("p = ").removeprefix("p ")


def _means(part: FairTable, tested: Sequence[Tested]) -> str:
    p = {(test.measure, test.method): f" ({_p(test.comparison.p)})" for test in tested}
    rows = [
        [
            TITLES[method],
            *(
                f"{np.mean(by_method[method]):.3f}{p.get((measure, method), '')}"
                for measure, by_method in part.values.items()
            ),
            f"{np.median(part.seconds[method]):.2f} s",
        ]
        for method in part.methods
    ]
    return "Means, with p against PCA in brackets; the time is the median.\n\n" + table(
        ["", *map(measure_title, part.values), "time"], rows
    )


def _outliers(compared: Compared) -> tuple[str, int]:
    text, made = [prose.OUTLIERS], 0
    clean = compared.tables[DIMENSIONS[0]].subset(compared.outliers.data_sets)
    for title, part in compared.parts(compared.outliers):
        before = clean.subset(part.data_sets)
        tested = {(test.measure, test.method): test for test in against_pca(part, [AVERAGE, AVERAGE_OF_ALL])}
        made += len(tested)
        rows = []
        for method in part.methods:
            values = [np.mean(table.values[AVERAGE][method]) for table in (before, part)]
            cells = [TITLES[method], f"{values[0]:.3f}", f"{values[1]:.3f}"]
            if method == "pca":
                rows.append([*cells, "", "", "", "", "", ""])
                continue
            of_all = tested[AVERAGE_OF_ALL, method].comparison
            rows.append(
                [
                    *cells,
                    f"{np.mean(before.differences(method)):+.4f}",
                    *_cells(tested[AVERAGE, method]),
                    f"{of_all.mean:+.4f} ({p_text(of_all.p)})",
                ]
            )
        heads = [
            f"{len(part.data_sets)} sets, {title}",
            "clean",
            "outliers",
            "difference to PCA, clean",
            f"with outliers, {_HEAD[0]}",
            *_HEAD[1:],
            "with outliers, all rows scored",
        ]
        text.append(table(heads, rows))
    return "\n\n".join(text), made


def _by_size(compared: Compared, draw: Draw) -> str:
    flat = compared.tables[DIMENSIONS[0]]
    others = [method for method in flat.methods if method != "pca"]
    rows = [compared.sizes[name][0] for name in flat.data_sets]
    content = difference_figure.Differences(
        flat.data_sets,
        rows,
        [name in compared.fresh for name in flat.data_sets],
        {TITLES[method]: flat.differences(method) for method in others},
    )
    lines = []
    for place, what, ranges in ((0, "rows", _SIZES), (1, "features", _FEATURES)):
        for low, high in ranges:
            part = flat.subset(name for name in flat.data_sets if low <= compared.sizes[name][place] < high)
            if part.data_sets:
                span = (
                    f"from {low}" if high == 10**9 else f"{low} to {high - 1}" if low else f"up to {high - 1}"
                )
                means = [f"{np.mean(part.differences(method)):+.3f}" for method in others]
                lines.append([f"{span} {what}", str(len(part.data_sets)), *means])
    return "\n\n".join(
        [
            draw("differences", difference_figure.draw, content),
            prose.DIFFERENCES,
            table(
                ["AVG4, mean difference to PCA", "data sets", *(TITLES[method] for method in others)], lines
            ),
        ]
    )


def _by_data_set(compared: Compared) -> str:
    flat = compared.tables[DIMENSIONS[0]]
    order = sorted(flat.data_sets, key=lambda name: (name not in compared.fresh, compared.sizes[name]))
    rows = []
    for name in order:
        place = flat.data_sets.index(name)
        cells = [
            f"{flat.values[AVERAGE][method][place]:.3f}"
            + (f" ± {flat.spread[method][place]:.3f}" if method in flat.spread else "")
            for method in flat.methods
        ]
        rows.append(
            [name, "no" if name in compared.fresh else "yes", "{} × {}".format(*compared.sizes[name]), *cells]
        )
    head = ["data set", "the paper's", "rows × features", *(TITLES[method] for method in flat.methods)]
    return "Rows are those of the whole data set; ± is over the seeds.\n\n" + table(head, rows)
