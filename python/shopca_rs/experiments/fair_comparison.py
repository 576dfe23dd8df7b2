"""Methods next to each other: their scores on the same data sets, and tests against PCA."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from . import statistics
from .methods import COMPONENTS
from .protocols import PROTOCOLS
from .results import Result
from .runner import Available
from .scores import AVERAGE, AVERAGE_OF_ALL, AVERAGED, CONTINUITY, TRUSTWORTHINESS

# Named before the comparison was run: SHOPCA's defaults, the two changes to them that promised something,
# and LPP, each against PCA in AVG4 in two dimensions, on the data sets that are not the paper's.
PRIMARY_MEASURE = AVERAGE
PRIMARY_METHODS = ("shopca", "shopca-alpha-1", "shopca-self", "lpp")

MEASURES = {
    "fair": (AVERAGE, *AVERAGED, TRUSTWORTHINESS, CONTINUITY),
    "outliers": (AVERAGE, *AVERAGED, AVERAGE_OF_ALL),
}


@dataclass(frozen=True)
class FairTable:
    """Scores of all methods on the data sets that have a result for each of them.

    Attributes
    ----------
    data_sets : list of str
        Their names, in the order of the survey.
    methods : list of str
        Names of the methods, in the order of the protocol.
    values : dict
        Measure → method → its scores over the data sets, the mean over the seeds.
    spread : dict
        Method → standard deviation of AVG4 over the seeds, by data set; only methods with several.
    seconds : dict
        Method → its time on each data set, the median over the seeds.
    """

    data_sets: list[str]
    methods: list[str]
    values: dict[str, dict[str, list[float]]]
    spread: dict[str, list[float]]
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

        def cut(by_method: dict[str, list[float]]) -> dict[str, list[float]]:
            return {method: [values[place] for place in keep] for method, values in by_method.items()}

        return FairTable(
            [self.data_sets[place] for place in keep],
            self.methods,
            {measure: cut(by_method) for measure, by_method in self.values.items()},
            cut(self.spread),
            cut(self.seconds),
        )

    def differences(self, method: str, measure: str = AVERAGE) -> list[float]:
        """Return by how much a method is better than PCA on each data set.

        Parameters
        ----------
        method : str
            Its name.
        measure : str, default="avg4"
            The score.

        Returns
        -------
        list of float
            Its score less that of PCA.
        """
        by_method = self.values[measure]
        return [ours - base for ours, base in zip(by_method[method], by_method["pca"], strict=True)]


def fair_table(
    results: Iterable[Result],
    found: Sequence[Available],
    components: int = COMPONENTS,
    protocol: str = "fair",
) -> FairTable:
    """Collect the results of the fair protocol or of that with outliers.

    Parameters
    ----------
    results : iterable of Result
        Finished runs.
    found : sequence of Available
        The data sets.
    components : int, default=2
        Number of output dimensions.
    protocol : {"fair", "outliers"}, default="fair"
        Which.

    Returns
    -------
    FairTable
        Of all methods that have any result, on the data sets that have a result for each of them.
    """
    runs: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        if (result.run.protocol, result.run.components) == (protocol, components) and result.scores:
            runs[result.run.data_set, result.run.method].append(result)
    present = {method for _, method in runs}
    methods = [method.name for method in PROTOCOLS[protocol].methods if method.name in present]
    names = [entry.data_set.name for entry in found if not entry.missing]
    names = [name for name in names if methods and all((name, method) in runs for method in methods)]
    several = [method for method in methods if any(len(runs[name, method]) > 1 for name in names)]
    return FairTable(
        names,
        methods,
        {
            measure: {
                method: [
                    float(np.mean([result.scores[measure] for result in runs[name, method]]))
                    for name in names
                ]
                for method in methods
            }
            for measure in MEASURES[protocol]
        },
        {
            method: [
                float(np.std([result.scores[AVERAGE] for result in runs[name, method]])) for name in names
            ]
            for method in several
        },
        {
            method: [float(np.median([result.seconds for result in runs[name, method]])) for name in names]
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
    interval : tuple of float
        Bootstrap interval of the mean difference, 95 %.
    adjusted : float
        p after Holm's correction for all tests that were made together.
    """

    measure: str
    method: str
    comparison: statistics.Comparison
    interval: tuple[float, float]
    adjusted: float


def against_pca(
    table: FairTable, measures: Sequence[str], methods: Sequence[str] | None = None
) -> list[Tested]:
    """Test methods against PCA.

    Parameters
    ----------
    table : FairTable
        The scores.
    measures : sequence of str
        In which measures.
    methods : sequence of str, optional
        Which of the methods of the table; all of them by default.

    Returns
    -------
    list of Tested
        Measures in order, methods within them; empty without PCA or data sets.
    """
    if "pca" not in table.methods or not table.data_sets:
        return []
    wanted = [
        method for method in table.methods if method != "pca" and (methods is None or method in methods)
    ]
    made = [
        (
            measure,
            method,
            statistics.compare(table.values[measure][method], table.values[measure]["pca"]),
            statistics.bootstrap_interval(table.differences(method, measure)),
        )
        for measure in measures
        for method in wanted
    ]
    adjusted = statistics.holm([test[2].p for test in made])
    return [Tested(*test, p) for test, p in zip(made, adjusted, strict=True)]
