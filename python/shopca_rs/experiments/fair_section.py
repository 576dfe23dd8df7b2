"""The section of the report on the fair protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from . import figures, prose, statistics
from .comparison import FairTable, Tested, against_pca
from .markdown import table
from .naming import TITLES, Draw, measure_title, p_text
from .scores import ACCURACY

Panels = Mapping[str, Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]]]

SMALL = 800  # rows; below this the paper speaks of small samples
MAIN = ("ward_ari", "ward_v_measure", "kmeans_ari", "complete_ari", ACCURACY)


def fair_section(
    fair: FairTable, tested: Sequence[Tested], small: Sequence[str], panels: Panels, draw: Draw
) -> str:
    """Write the means, the tests, the ranking and the pictures of the fair protocol.

    Parameters
    ----------
    fair : FairTable
        The scores.
    tested : sequence of Tested
        Every method against PCA.
    small : sequence of str
        Names of the data sets with few rows.
    panels : dict
        Data set → title of the method → its embedding and the classes.
    draw : callable
        Name, function and content of a figure → the Markdown that shows it.

    Returns
    -------
    str
        The section.
    """
    text = prose.FAIR
    if not fair.data_sets:
        return text + "\n\nNo data set has a result for every method yet."
    text += "\n\n" + _fair_means(fair, tested)
    part = fair.subset(small)
    if 0 < len(part.data_sets) < len(fair.data_sets):
        text += f"\n\n### Small samples\n\nThe data sets with fewer than {SMALL} rows. "
        text += _fair_means(part, against_pca(part))
    titles = {
        measure_title(measure): {TITLES[method]: by_method[method] for method in fair.methods}
        for measure, by_method in fair.values.items()
        if measure in MAIN and measure != "ward_v_measure"
    }
    text += "\n\n### Ranking\n\n" + draw("ranking", figures.ranking, titles)
    text += "\n\n" + prose.RANKING
    if panels:
        text += "\n\n### Embeddings\n\n" + draw("embeddings", figures.embeddings, panels)
    text += f"\n\n### Every test\n\n{len(tested)} paired Wilcoxon tests against PCA were made; "
    text += "p is as computed, Holm's p is corrected for their number.\n\n" + table(
        ["measure", "method", "mean difference", "wins", "losses", "ties", "p", "Holm's p"],
        [
            [
                measure_title(test.measure),
                TITLES[test.method],
                f"{test.comparison.mean:+.4f}",
                str(test.comparison.wins),
                str(test.comparison.losses),
                str(test.comparison.ties),
                p_text(test.comparison.p).removeprefix("p = ").removeprefix("p "),
                p_text(test.adjusted).removeprefix("p = ").removeprefix("p "),
            ]
            for test in tested
        ],
    )
    for measure in ("ward_ari", ACCURACY):
        text += f"\n\n### {measure_title(measure)} by data set\n\n"
        spread = fair.seeds[measure]
        text += table(
            ["data set", *(TITLES[method] for method in fair.methods)],
            [
                [
                    name,
                    *(
                        f"{fair.values[measure][method][place]:.4f}"
                        + (f" ± {spread[method][place]:.3f}" if method in spread else "")
                        for method in fair.methods
                    ),
                ]
                for place, name in enumerate(fair.data_sets)
            ],
        )
    return text


def _fair_means(fair: FairTable, tested: Sequence[Tested]) -> str:
    p = {(test.measure, test.method): test.comparison.p for test in tested}
    ranks = {measure: statistics.average_ranks(fair.values[measure]) for measure in MAIN}
    rows = []
    for method in fair.methods:
        cells = []
        for measure in MAIN:
            cell = f"{np.mean(fair.values[measure][method]):.3f}"
            if (measure, method) in p:
                cell += f" ({p_text(p[measure, method])})"
            cells.append(cell)
        mean_rank = np.mean([ranks[measure][method] for measure in MAIN])
        rows.append([TITLES[method], *cells, f"{mean_rank:.2f}", f"{np.median(fair.seconds[method]):.2f} s"])
    heads = [*(measure_title(measure) for measure in MAIN), "mean rank", "median time"]
    return f"Means over {len(fair.data_sets)} data sets.\n\n" + table(["", *heads], rows)
