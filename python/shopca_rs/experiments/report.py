"""The report of an experiment: Markdown with its tables, the figures beside it, one CSV with every number."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..writing import replacing
from .comparison import BASES, FairTable, Line, Tested, against_pca, fair_table, lines, measures
from .fair_section import SMALL, Panels, fair_section
from .markdown import table
from .naming import RIVAL_TITLES, TITLES, measure_title, p_text, short_title
from .paper_sections import once, published, side_by_side, written
from .printed import Printed
from .results import Result, Results, Run
from .runner import RIVALS, Available, versions
from .scores import ACCURACY
from .sources import load

_SHOWN = ("digits", "texture", "cardiotocography", "iris", "wine")


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
    folder : Path or None
        Folder of .npz files.
    """

    command: str
    protocols: tuple[str, ...]
    found: list[Available]
    results: Results
    runs: list[Run]
    printed: list[Printed]
    folder: Path | None


def write_report(experiment: Experiment, path: Path) -> list[Path]:
    """Write the report, its figures and its numbers.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    path : Path
        The Markdown file. Figures and CSV go to a folder of its name beside it.

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
        if name != "fair"
    }
    fair = fair_table(finished, experiment.found)
    tested = against_pca(fair)
    parts = [_head(experiment), _in_short(experiment, by_protocol, fair, tested)]
    if experiment.printed and by_protocol:
        parts.append(side_by_side(by_protocol, fair, experiment.printed))
    if "published" in by_protocol:
        parts.append(published(by_protocol["published"], bool(experiment.printed), draw))
    if "written" in by_protocol:
        parts.append(written(by_protocol["written"], bool(experiment.printed)))
    if "fair" in experiment.protocols:
        small = [entry.data_set.name for entry in experiment.found if 0 < entry.shape[0] < SMALL]
        parts.append(fair_section(fair, tested, small, _panels(fair, experiment), draw))
    parts += [_data_sets(experiment), _failures(finished)]
    with replacing(path) as unfinished:
        unfinished.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return [path, *files]


def _head(experiment: Experiment) -> str:
    seeds = 1 + max((run.seed for run in experiment.runs), default=0)
    given = ""
    if experiment.folder is not None and "--data" not in experiment.command:
        given = "\nThe folders of data and printed tables were named by `SHOPCA_DATA` and `SHOPCA_PAPER`."
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"""# The paper's experiments, rerun

    {experiment.command}

This page is the output of that command: {used}.
Every run is on one thread. UMAP runs with {seeds} seeds and is shown by their mean. Every number is in
`results.csv` beside the figures; all but UMAP's and the times come out the same to the last digit on every
run.{given}"""


def _in_short(
    experiment: Experiment, by_protocol: dict[str, list[Line]], fair: FairTable, tested: Sequence[Tested]
) -> str:
    missing = [entry for entry in experiment.found if entry.missing]
    other = [entry for entry in experiment.found if not entry.missing and not entry.matches_paper]
    points = [
        f"{len(experiment.found) - len(missing)} of {len(experiment.found)} data sets could be had; of "
        f"{len(other)} the rows are not those of the paper."
    ]
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
            f"ARI, FM and V equal print to the fourth decimal for {'; '.join(filter(None, equal))}; SHOPCA "
            f"with one of the three bases on {len(either)} of {len(weights)}."
        )
        if umap:
            inside = sum(
                low <= line.printed.scores[0] <= high for line in umap for low, high in line.spread.values()
            )
            points.append(
                f"UMAP's printed ARI lies between the least and the greatest over the seeds on {inside} of "
                f"{len(umap)} data sets; the paper gives no seed."
            )
    if tested:
        points.append(
            f"Fair protocol, {len(fair.data_sets)} data sets, mean difference from PCA: "
            + "; ".join(_lead_sentence(tested, method) for method in fair.methods if method != "pca")
            + "."
        )
        points.append(
            f"Of its {len(tested)} tests against PCA these hold after Holm's correction at 5 %: "
            + "; ".join(_held_sentence(tested, method) for method in fair.methods if method != "pca")
            + "."
        )
    return "## In short\n\n" + "\n".join(f"- {point}" for point in points)


def _lead_sentence(tested: Sequence[Tested], method: str) -> str:
    told = ", ".join(
        f"{measure_title(test.measure)} {test.comparison.mean:+.3f} ({p_text(test.comparison.p)})"
        for test in tested
        if test.method == method and test.measure in ("ward_ari", "kmeans_ari", ACCURACY)
    )
    return f"{TITLES[method]}: {told}"


def _held_sentence(tested: Sequence[Tested], method: str) -> str:
    held = [test for test in tested if test.method == method and test.adjusted < 0.05]
    better = [measure_title(test.measure) for test in held if test.comparison.mean > 0]
    worse = [measure_title(test.measure) for test in held if test.comparison.mean < 0]
    said = [
        f"{word} in {'all' if len(found) == len(measures()) else ', '.join(found)}"
        for word, found in (("better", better), ("worse", worse))
        if found
    ]
    return f"{TITLES[method]} {' and '.join(said) or 'in none'}"


def _equal_sentence(published: Sequence[Line], rival: str) -> str:
    printed = [line for line in published if line.printed.method == rival and line.ours]
    if not printed or rival == "umap":
        return ""
    return f"{RIVAL_TITLES[rival]} on {sum(line.equal(rival) for line in printed)} of {len(printed)}"


def _panels(fair: FairTable, experiment: Experiment) -> Panels:
    entries = {entry.data_set.name: entry.data_set for entry in experiment.found}
    panels: dict[str, dict[str, Any]] = {}
    for name in [name for name in _SHOWN if name in fair.data_sets][:3]:
        y = load(entries[name], experiment.folder).y
        panels[name] = {
            TITLES[method]: (experiment.results.embedding(Run("fair", name, method)), y)
            for method in fair.methods
        }
    return panels


def _data_sets(experiment: Experiment) -> str:
    rows = []
    for entry in experiment.found:
        data_set = entry.data_set
        paper = f"{data_set.n} × {data_set.d}, {data_set.classes}"
        if entry.missing:
            rows.append([data_set.name, paper, "**missing**", entry.missing])
            continue
        ours = "{} × {}, {}".format(*entry.shape)
        told = ". ".join([entry.source, *entry.notes])
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
        writer.writerow(["protocol", "data_set", "method", "seed", *scores, *details, "failure", "notes"])
        for result in finished:
            run = result.run
            writer.writerow(
                [
                    run.protocol,
                    run.data_set,
                    run.method,
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
