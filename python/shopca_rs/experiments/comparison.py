"""Results next to the printed numbers, and methods next to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from . import printed, scores, statistics
from .printed import Printed
from .protocols import MOST_FEATURES, PROTOCOLS
from .results import Result
from .runner import RIVALS, Available

BASES = ("shopca-numpy", "shopca-lapack", "shopca-average")

# What can make a number differ from the printed one, by the letter that stands for it in the tables.
CAUSES = {
    "r": "the rows are not the paper's: fewer of them, other columns or a substitute",
    "b": "k ≤ d: the eigenvectors of a neighbourhood are what the solver makes of rounding errors",
    "t": "points at exactly the distance of the last neighbour: which of them it is, is a matter of choice",
    "c": "text columns or missing values, whose coding the paper does not tell",
    "z": "columns that depend on each other: an eigenvalue that is rounding errors takes part in the gap",
    "w": "PCA to 25, then standardised: all variances are 1 and PCA is an arbitrary rotation",
    "s": "random numbers without a seed in the paper",
}

_SMALLEST = 5e-5  # half of the last printed digit
_CLOSE = 0.03


@dataclass(frozen=True)
class Line:
    """One printed row and what came out here.

    Attributes
    ----------
    printed : Printed
        The row.
    ours : dict
        Method → its three indices, the mean over the seeds; only methods that have a result.
    weights : dict
        Method → λ, where there is one.
    spread : dict
        Method → the least and the greatest ARI over the seeds, where there are several.
    causes : str
        Letters of `CAUSES` that apply.
    same_rows : bool
        Whether the data are the paper's.
    """

    printed: Printed
    ours: dict[str, tuple[float, ...]]
    weights: dict[str, float]
    spread: dict[str, tuple[float, float]]
    causes: str
    same_rows: bool

    def equal(self, method: str) -> bool:
        """Say whether all three indices equal the printed ones to the fourth decimal.

        Parameters
        ----------
        method : str
            The method.

        Returns
        -------
        bool
            Whether they do; no if there is no result.
        """
        ours = self.ours.get(method)
        return ours is not None and all(
            abs(a - b) <= _SMALLEST for a, b in zip(ours, self.printed.scores, strict=True)
        )

    def close(self, method: str, most: float = _CLOSE) -> bool:
        """Say whether λ is near the printed one.

        Parameters
        ----------
        method : str
            The method.
        most : float, default=0.03
            Largest relative difference.

        Returns
        -------
        bool
            Whether it is; no if there is no result.
        """
        difference = self.difference(method)
        return difference is not None and abs(difference) <= most

    def difference(self, method: str) -> float | None:
        """Return the relative difference of λ from the printed one.

        Parameters
        ----------
        method : str
            The method.

        Returns
        -------
        float or None
            The difference beyond what rounding to the printed digits explains; None without a result.
        """
        weight, print_ = self.weights.get(method), self.printed.weight
        if weight is None or not print_:
            return None
        off = weight - print_
        return float(np.sign(off) * max(abs(off) - 0.005, 0.0) / print_)


def lines(
    protocol: str, results: Iterable[Result], found: Sequence[Available], rows: Sequence[Printed]
) -> list[Line]:
    """Put the results of a protocol next to the printed rows.

    Parameters
    ----------
    protocol : str
        Its name.
    results : iterable of Result
        Finished runs.
    found : sequence of Available
        The data sets.
    rows : sequence of Printed
        What is printed.

    Returns
    -------
    list of Line
        One for each printed row whose data set was available, in the order of print.
    """
    by_run: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.run.protocol == protocol and result.scores:
            by_run[result.run.data_set, result.run.method].append(result)
    clustering = PROTOCOLS[protocol].clusterings[0]
    available = {entry.data_set.name: entry for entry in found if not entry.missing}
    lines = []
    for row in rows:
        if row.data_set not in available:
            continue
        names = [method.name for method in PROTOCOLS[protocol].methods]
        wanted = [
            name
            for name in names
            if (row.method == name) or (row.method == "shopca" and name not in RIVALS.values())
        ]
        ours, weights, spread = {}, {}, {}
        for name in wanted:
            runs = by_run.get((row.data_set, name), [])
            if not runs:
                continue
            ours[name] = tuple(
                float(np.mean([run.scores[f"{clustering}_{index}"] for run in runs]))
                for index in printed.INDICES
            )
            if "lambda" in runs[0].details:
                weights[name] = runs[0].details["lambda"]
            if len(runs) > 1:
                values = [run.scores[f"{clustering}_ari"] for run in runs]
                spread[name] = (min(values), max(values))
        entry = available[row.data_set]
        causes = _causes(row.method, entry, by_run.get((row.data_set, BASES[0]), []))
        lines.append(Line(row, ours, weights, spread, causes, entry.matches_paper))
    return lines


def _causes(method: str, entry: Available, of_the_tables: Sequence[Result]) -> str:
    details = of_the_tables[0].details if of_the_tables else {}
    features = min(entry.shape[1], MOST_FEATURES)
    shopca = method == "shopca"
    applies = {
        "r": not entry.matches_paper,
        "b": shopca and details.get("k", features) <= features,
        "t": shopca and details.get("tied_rows", 0) > 0,
        "c": entry.incomplete > 0 or any("coded" in note for note in entry.notes),
        "z": shopca and details.get("rank", features) < features,
        "w": method == "pca" and entry.shape[1] > MOST_FEATURES,
        "s": method == "umap",
    }
    return "".join(letter for letter, holds in applies.items() if holds)


@dataclass(frozen=True)
class FairTable:
    """Scores of all methods on the data sets that have a result for each of them.

    Attributes
    ----------
    data_sets : list of str
        Their names, in the order of the catalogue.
    methods : list of str
        Names of the methods, in the order of the protocol.
    values : dict
        Measure → method → its scores over the data sets, the mean over the seeds.
    seeds : dict
        Measure → method → standard deviation over the seeds, by data set; only methods with several.
    seconds : dict
        Method → its time on each data set, the median over the seeds.
    """

    data_sets: list[str]
    methods: list[str]
    values: dict[str, dict[str, list[float]]]
    seeds: dict[str, dict[str, list[float]]]
    seconds: dict[str, list[float]]

    def subset(self, names: Iterable[str]) -> FairTable:
        """Return the table of some of the data sets.

        Parameters
        ----------
        names : iterable of str
            Which.

        Returns
        -------
        FairTable
            Their table.
        """
        wanted = set(names)
        keep = [place for place, name in enumerate(self.data_sets) if name in wanted]

        def cut(table: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, list[float]]]:
            return {
                measure: {method: [values[place] for place in keep] for method, values in by_method.items()}
                for measure, by_method in table.items()
            }

        return FairTable(
            [self.data_sets[place] for place in keep],
            self.methods,
            cut(self.values),
            cut(self.seeds),
            cut({"": self.seconds})[""],
        )


def measures() -> list[str]:
    """Names of the fair protocol's scores, without the one that equals another.

    Returns
    -------
    list of str
        "ward_ari", …, "knn_accuracy". NMI is left out: it is the V-measure.
    """
    clusterings = PROTOCOLS["fair"].clusterings
    named = [
        f"{clustering}_{index}" for clustering in clusterings for index in scores.INDICES if index != "nmi"
    ]
    return [*named, scores.ACCURACY]


def fair_table(results: Iterable[Result], found: Sequence[Available]) -> FairTable:
    """Collect the results of the fair protocol.

    Parameters
    ----------
    results : iterable of Result
        Finished runs.
    found : sequence of Available
        The data sets.

    Returns
    -------
    FairTable
        Of all methods that have any result, on the data sets where none of them lacks.
    """
    runs: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.run.protocol == "fair" and result.scores:
            runs[result.run.data_set, result.run.method].append(result)
    present = {method for _, method in runs}
    methods = [method.name for method in PROTOCOLS["fair"].methods if method.name in present]
    names = [entry.data_set.name for entry in found if not entry.missing]
    names = [name for name in names if methods and all((name, method) in runs for method in methods)]

    def collect(measure: str, method: str, statistic: str) -> list[float]:
        of = getattr(np, statistic)
        return [float(of([run.scores[measure] for run in runs[name, method]])) for name in names]

    seeded = [method.name for method in PROTOCOLS["fair"].methods if method.seeded and method.name in present]
    return FairTable(
        names,
        methods,
        {measure: {method: collect(measure, method, "mean") for method in methods} for measure in measures()},
        {measure: {method: collect(measure, method, "std") for method in seeded} for measure in measures()},
        {
            method: [float(np.median([run.seconds for run in runs[name, method]])) for name in names]
            for method in methods
        },
    )


@dataclass(frozen=True)
class Tested:
    """One method against PCA in one measure.

    Attributes
    ----------
    measure, method : str
        Which.
    comparison : Comparison
        Differences, wins and p.
    adjusted : float
        p after Holm's correction for all tests of the table.
    """

    measure: str
    method: str
    comparison: statistics.Comparison
    adjusted: float


def against_pca(table: FairTable) -> list[Tested]:
    """Test every method against PCA in every measure.

    Parameters
    ----------
    table : FairTable
        The scores.

    Returns
    -------
    list of Tested
        Measures in order, methods within them.
    """
    if "pca" not in table.methods or not table.data_sets:
        return []
    made = [
        (measure, method, statistics.compare(by_method[method], by_method["pca"]))
        for measure, by_method in table.values.items()
        for method in table.methods
        if method != "pca"
    ]
    adjusted = statistics.holm([comparison.p for _, _, comparison in made])
    return [Tested(*test, p) for test, p in zip(made, adjusted, strict=True)]
