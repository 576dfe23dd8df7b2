"""The report of an experiment: Markdown with its tables, the figures beside it, one CSV with every number."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..atomic_files import replacing
from .comparison import BASES, Line, lines
from .fair_comparison import Tested, fair_table
from .fair_section import Compared, Panels, fair_section
from .markdown import table
from .naming import RIVAL_TITLES, TITLES, p_text, short_title
from .paper_sections import once, published, side_by_side, written
from .preparation import sampled_rows
from .printed import Printed
from .protocols import DIMENSIONS, MOST_ROWS
from .results import Result, Results, Run
from .runner import RIVALS, Available, versions
from .sources import load

_SHOWN = ("digits", "texture", "pbmc68k_reduced", "iris", "wine")
_SHOWN_METHODS = ("pca", "shopca", "shopca-alpha-1", "lpp", "isomap", "umap")

# What stands between these two lines of a report was written by hand and survives the next run.
CONCLUSIONS = ("<!-- conclusions, written by hand -->", "<!-- end of conclusions -->")


@dataclass(frozen=True)
class Experiment:
    """All that a report is written from.

    Attributes
    ----------
    command : str
        The command line that made it.
    protocols : tuple of str
        Names of the protocols that ran.
    found : list of Available
        The data sets, missing ones too.
    results : Results
        Where the finished runs are.
    runs : list of Run
        Those that belong to this experiment.
    printed : list of Printed
        The paper's tables, if at hand.
    folder, fresh : Path or None
        Folders of .npz files, of the paper's data sets and of others.
    """

    command: str
    protocols: tuple[str, ...]
    found: list[Available]
    results: Results
    runs: list[Run]
    printed: list[Printed]
    folder: Path | None
    fresh: Path | None = None


def write_report(experiment: Experiment, path: Path) -> list[Path]:
    """Write the report, its figures and its numbers.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    path : Path
        The Markdown file. Figures and CSV go to a folder of its name beside it. Where it exists, what stands
        between the two lines of `CONCLUSIONS` is kept and opens the new one.

    Returns
    -------
    list of Path
        Every file that was written.
    """
    wanted = set(experiment.runs)
    finished = [result for result in experiment.results if result.run in wanted]
    beside = path.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    files = [_write_csv(finished, beside / "results.csv")]

    def draw(name: str, figure: Callable[[Any, Path], object], content: Any) -> str:
        target = beside / f"{name}.png"
        figure(content, target)
        files.append(target)
        return f"![{name.replace('-', ' ')}]({os.path.relpath(target, path.parent)})"

    by_protocol = {
        name: lines(name, finished, experiment.found, experiment.printed)
        for name in experiment.protocols
        if name in ("published", "written")
    }
    compared = _compared(finished, experiment.found)
    parts = [
        "# The paper's experiments, rerun",
        _kept(path),
        _head(experiment),
        _in_short(experiment, by_protocol, compared.primary()),
    ]
    if "fair" in experiment.protocols:
        parts.append(fair_section(compared, _panels(compared, experiment), draw))
    if experiment.printed and by_protocol:
        parts.append(side_by_side(by_protocol, experiment.printed))
    if "published" in by_protocol:
        parts.append(published(by_protocol["published"], bool(experiment.printed), draw))
    if "written" in by_protocol:
        parts.append(written(by_protocol["written"], bool(experiment.printed)))
    parts += [_data_sets(experiment), _failures(finished)]
    with replacing(path) as unfinished:
        unfinished.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return [path, *files]


def _kept(path: Path) -> str:
    """Return the conclusions that were written by hand into the report that is there."""
    begin, end = CONCLUSIONS
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if not 0 <= text.find(begin) < text.find(end):
        return ""
    return text[text.index(begin) : text.index(end) + len(end)]


def _compared(finished: Sequence[Result], found: Sequence[Available]) -> Compared:
    return Compared(
        {components: fair_table(finished, found, components) for components in DIMENSIONS},
        fair_table(finished, found, protocol="outliers"),
        [entry.data_set.name for entry in found if not entry.data_set.in_paper],
        {
            entry.data_set.name: (entry.shape[0], entry.shape[1] - len(entry.data_set.label_columns))
            for entry in found
        },
    )


def _head(experiment: Experiment) -> str:
    seeds = 1 + max((run.seed for run in experiment.runs if run.method == "umap"), default=0)
    umap = f"UMAP runs with {seeds} seeds and is shown by their mean." if seeds > 1 else "UMAP runs once."
    given = ""
    if experiment.folder is not None and "--data" not in experiment.command:
        given = (
            "\nThe folders of data and printed tables were named by `SHOPCA_DATA`, `SHOPCA_FRESH` and "
            "`SHOPCA_PAPER`."
        )
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"""## How this page was made

    {experiment.command}

All that follows is the output of that command: {used}.
Every run is on one thread. {umap} Every number is in
`results.csv` beside the figures; all but UMAP's and the times come out the same to the last digit on every
run.{given}"""


def _in_short(experiment: Experiment, by_protocol: dict[str, list[Line]], primary: Sequence[Tested]) -> str:
    of_paper = [entry for entry in experiment.found if entry.data_set.in_paper]
    there = [entry for entry in of_paper if not entry.missing]
    other = [entry for entry in there if not entry.matches_paper]
    points = [
        f"{len(there)} of {len(of_paper)} data sets were available; of {len(other)} the rows are not those "
        "of the paper."
    ]
    if fresh := len(experiment.found) - len(of_paper):
        points.append(f"{fresh} data sets are not the paper's.")
    published = by_protocol.get("published", [])
    if published:
        weights = once(published)
        umap = [line for line in published if "umap" in line.spread]
        counts = ", ".join(
            f"{sum(line.close(method) for line in weights)} with {short_title(method)}" for method in BASES
        )
        points.append(f"The published λ comes out within 3 % on {counts}, of {len(weights)} data sets.")
        equal = [_equal_sentence(published, rival) for rival in RIVALS.values()]
        either = [line for line in weights if any(line.equal(method) for method in BASES)]
        points.append(
            f"ARI, FM and V agree with print to the fourth decimal for {'; '.join(filter(None, equal))}; "
            f"SHOPCA with one of the three bases on {len(either)} of {len(weights)}."
        )
        if umap:
            inside = sum(
                low <= line.printed.scores[0] <= high for line in umap for low, high in line.spread.values()
            )
            points.append(
                f"UMAP's printed ARI lies between the least and the greatest over the seeds on {inside} of "
                f"{len(umap)} data sets; the paper gives no seed."
            )
    if primary:
        points.append(
            "Fair protocol, AVG4 in two dimensions less that of PCA, on data sets that are not the paper's: "
            + "; ".join(_primary_words(test) for test in primary)
            + "."
        )
    return "## In short\n\n" + "\n".join(f"- {point}" for point in points)


def _primary_words(test: Tested) -> str:
    low, high = test.interval
    return (
        f"{TITLES[test.method]} {test.comparison.mean:+.3f} ({low:+.3f} … {high:+.3f}, "
        f"Holm's {p_text(test.adjusted)})"
    )


def _equal_sentence(published: Sequence[Line], rival: str) -> str:
    printed = [line for line in published if line.printed.method == rival and line.ours]
    if not printed or rival == "umap":
        return ""
    return f"{RIVAL_TITLES[rival]} on {sum(line.equal(rival) for line in printed)} of {len(printed)}"


def _panels(compared: Compared, experiment: Experiment) -> Panels:
    entries = {entry.data_set.name: entry.data_set for entry in experiment.found}
    flat = compared.tables[DIMENSIONS[0]]
    panels: dict[str, dict[str, Any]] = {}
    for name in [name for name in _SHOWN if name in flat.data_sets][:3]:
        entry = entries[name]
        y = load(entry, experiment.folder if entry.in_paper else experiment.fresh).y
        panels[name] = {
            TITLES[method]: (
                experiment.results.embedding(Run("fair", name, method)),
                y[sampled_rows(len(y), MOST_ROWS)],
            )
            for method in flat.methods
            if method in _SHOWN_METHODS
        }
    return panels


def _data_sets(experiment: Experiment) -> str:
    rows = []
    for entry in experiment.found:
        data_set = entry.data_set
        listed = f"{data_set.n} × {data_set.d}, {data_set.classes}"
        paper = listed if data_set.in_paper else "–"
        if entry.missing:
            rows.append([data_set.name, paper, "**missing**", entry.missing])
            continue
        ours = "{} × {}, {}".format(*entry.shape)
        told = ". ".join(text.rstrip(".") for text in [entry.source, *entry.notes])
        rows.append([data_set.name, paper, "same" if ours == paper else ours, told])
    return "## Data sets\n\nRows × features, classes.\n\n" + table(
        ["data set", "paper", "here", "source and notes"], rows
    )


def _failures(finished: Sequence[Result]) -> str:
    failed = [result for result in finished if result.failure]
    if not failed:
        return ""
    return "## Runs without a result\n\n" + table(
        ["protocol", "data set", "method", "why"],
        [[r.run.protocol, r.run.data_set, TITLES[r.run.method], r.failure] for r in failed],
    )


def _write_csv(finished: Sequence[Result], path: Path) -> Path:
    scores = sorted({name for result in finished for name in result.scores})
    details = sorted({name for result in finished for name in result.details})
    with replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["protocol", "data_set", "method", "components", "seed", *scores, *details, "failure", "notes"]
        )
        for result in finished:
            run = result.run
            writer.writerow(
                [
                    run.protocol,
                    run.data_set,
                    run.method,
                    run.components,
                    run.seed,
                    *(_cell(result.scores, name) for name in scores),
                    *(_cell(result.details, name) for name in details),
                    result.failure,
                    " | ".join(result.notes),
                ]
            )
    return path


def _cell(values: dict[str, float], name: str) -> str:
    return f"{values[name]:.6g}" if name in values else ""
