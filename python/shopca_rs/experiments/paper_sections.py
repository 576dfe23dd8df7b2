"""The sections of the report that stand next to print: the published protocol and the written one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from . import figures, prose
from .comparison import BASES, CAUSES, Line
from .markdown import table
from .naming import INDICES, RIVAL_TITLES, Draw, short_title
from .printed import Printed
from .runner import RIVALS


def side_by_side(by_protocol: dict[str, list[Line]], printed: Sequence[Printed]) -> str:
    """Compare the means of each table under the paper's protocols, over the data sets that all of them have.

    Parameters
    ----------
    by_protocol : dict
        Protocol → its lines.
    printed : sequence of Printed
        The printed rows.

    Returns
    -------
    str
        The section.
    """
    rows = []
    for number, rival in RIVALS.items():
        of_table = {
            name: [line for line in found if line.printed.table == number and line.ours]
            for name, found in by_protocol.items()
        }
        common = _common([{line.printed.data_set for line in found} for found in of_table.values()])
        if not common:
            continue
        shown = [row for row in printed if row.table == number and row.data_set in common]
        for method, name in ((rival, RIVAL_TITLES[rival]), ("shopca", "SHOPCA")):
            cells = [_mean_scores([row.scores for row in shown if row.method == method])]
            for protocol, found in of_table.items():
                picked = [line for line in found if line.printed.data_set in common]
                key = rival if method == rival else BASES[0] if protocol == "published" else BASES[1]
                cells.append(
                    _mean_scores(
                        [
                            line.ours[key]
                            for line in picked
                            if line.printed.method == method and key in line.ours
                        ]
                    )
                )
            rows.append([f"{number} ({len(common)})", name, *cells])
    titles = ["printed", *(f"{name}, ours" for name in by_protocol)]
    return prose.SIDE_BY_SIDE + "\n\n" + table(["table", "method", *titles], rows)


def _mean_scores(scores: Sequence[Sequence[float]]) -> str:
    return " / ".join(f"{value:.3f}" for value in np.mean(scores, axis=0)) if scores else "–"


def published(found: Sequence[Line], has_print: bool, draw: Draw) -> str:
    """Write what the protocol of the tables gives, next to print.

    Parameters
    ----------
    found : sequence of Line
        The printed rows and ours.
    has_print : bool
        Whether the printed tables are at hand.
    draw : callable
        Name, function and content of a figure → the Markdown that shows it.

    Returns
    -------
    str
        The section.
    """
    if not has_print:
        return (
            prose.PUBLISHED + "\n\nThe printed tables were not at hand, so there is nothing to compare with."
        )
    parts = [prose.PUBLISHED]
    if weights := once(found):
        parts += _lambdas(weights, draw)
    parts += _scores_by_table(found, draw)
    parts.append(_legend([line.causes for line in found]))
    return "\n\n".join(parts)


def _lambdas(weights: Sequence[Line], draw: Draw) -> list[str]:
    parts = []
    accident = [
        line for line in weights if "b" in line.causes and all(method in line.ours for method in BASES)
    ]
    if accident:
        ranges = [np.ptp([line.ours[method][0] for method in BASES]) for line in accident]
        parts.append(
            f"How much a score depends on the solver: on the {len(accident)} data sets with k ≤ d the "
            f"ARI of SHOPCA moves by {np.median(ranges):.3f} in the median and by up to {max(ranges):.3f} "
            "when nothing but the basis changes."
        )
    titles = [short_title(method) for method in BASES]
    points = [
        (line.printed.data_set, title, line.printed.weight, line.weights[method])
        for line in weights
        for method, title in zip(BASES, titles, strict=True)
        if method in line.weights and line.printed.weight
    ]
    rows = [
        [
            line.printed.data_set,
            f"{line.printed.weight:.2f}",
            *(_weight(line, method) for method in BASES),
            _reasons(line, line.close(BASES[0], 0.001)),
        ]
        for line in weights
    ]
    return [
        *parts,
        "### λ\n\n**Bold** where λ is within 0.1 % of the printed value; the letters are explained below the "
        "scores.",
        draw("lambda", figures.lambdas_against_print, points),
        table(["data set", "printed", *titles, "what can differ"], rows),
    ]


def _weight(line: Line, method: str) -> str:
    if method not in line.weights:
        return "–"
    value = f"{line.weights[method]:.2f}"
    difference = line.difference(method) or 0.0
    return f"**{value}**" if abs(difference) <= 0.001 else f"{value} ({difference:+.1%})"


def _reasons(line: Line, equal: bool) -> str:
    return "" if equal else ", ".join(line.causes) or "unknown"


def _scores_by_table(found: Sequence[Line], draw: Draw) -> list[str]:
    parts = [
        "### Scores\n\nARI / FM / V; **bold** where all three agree with print to the fourth decimal.",
        draw("published", figures.against_print, list(_points(found))),
    ]
    for number, rival in RIVALS.items():
        rows = [_score_row(line, rival) for line in found if line.printed.table == number and line.ours]
        if rows:
            parts.append(f"#### Table {number}: {RIVAL_TITLES[rival]} and SHOPCA")
            columns = ["data set", "method", "printed", "ours", "LAPACK", "average", "what can differ"]
            parts.append(table(columns, rows))
    return parts


def _score_row(line: Line, rival: str) -> list[str]:
    name = "SHOPCA" if line.printed.method == "shopca" else RIVAL_TITLES[rival]
    shown = BASES if line.printed.method == "shopca" else (rival, "", "")
    cells = [_scores(line, method) for method in shown]
    if rival in line.spread:
        low, high = line.spread[rival]
        cells[0] += f" (ARI {low:.4f} … {high:.4f})"
    printed = " / ".join(f"{value:.4f}" for value in line.printed.scores)
    return [line.printed.data_set, name, printed, *cells, _reasons(line, line.equal(shown[0]))]


def _scores(line: Line, method: str) -> str:
    if method not in line.ours:
        return ""
    text = " / ".join(f"{value:.4f}" for value in line.ours[method])
    return f"**{text}**" if line.equal(method) else text


def _points(found: Sequence[Line]) -> Iterable[figures.Point]:
    for line in found:
        method = BASES[0] if line.printed.method == "shopca" else line.printed.method
        if method not in line.ours:
            continue
        name = "SHOPCA" if line.printed.method == "shopca" else RIVAL_TITLES[method]
        for index, printed, ours in zip(
            INDICES.values(), line.printed.scores, line.ours[method], strict=True
        ):
            yield figures.Point(line.printed.table, name, index, printed, ours, line.same_rows)


def _legend(causes: Iterable[str]) -> str:
    used = set("".join(causes))
    listed = "\n".join(f"- **{letter}**: {text}." for letter, text in CAUSES.items() if letter in used)
    return "What can differ from the paper's run:\n\n" + listed


def written(found: Sequence[Line], has_print: bool) -> str:
    """Write what the rules of the text give, next to print.

    Parameters
    ----------
    found : sequence of Line
        The printed rows and ours.
    has_print : bool
        Whether the printed tables are at hand.

    Returns
    -------
    str
        The section.
    """
    text = prose.WRITTEN
    if not has_print or not found:
        return text
    rows = []
    for number, rival in RIVALS.items():
        for line in found:
            if line.printed.table == number and line.ours:
                shopca = line.printed.method == "shopca"
                shown = (BASES[1], BASES[2]) if shopca else (rival, "")
                printed = " / ".join(f"{value:.4f}" for value in line.printed.scores)
                rows.append(
                    [
                        str(number),
                        line.printed.data_set,
                        "SHOPCA" if shopca else RIVAL_TITLES[rival],
                        printed,
                        *(_scores(line, method) for method in shown),
                    ]
                )
    with_shopca = [line for line in found if line.printed.method == "shopca" and line.ours]
    equal = sum(line.equal(BASES[1]) or line.equal(BASES[2]) for line in with_shopca)
    return (
        text
        + f" SHOPCA's printed scores are reproduced on {equal} of {len(with_shopca)} rows.\n\n"
        + table(["table", "data set", "method", "printed", "ours (SHOPCA: our LAPACK)", "average"], rows)
    )


def once(found: Sequence[Line]) -> list[Line]:
    """Return SHOPCA's lines with each data set once, from the first table that has it.

    Parameters
    ----------
    found : sequence of Line
        Lines of all tables.

    Returns
    -------
    list of Line
        One for each data set that has a result.
    """
    first: dict[str, Line] = {}
    for line in found:
        if line.printed.method == "shopca" and line.ours:
            first.setdefault(line.printed.data_set, line)
    return list(first.values())


def _common(sets: Sequence[set[str]]) -> set[str]:
    return set.intersection(*sets) if sets else set()
