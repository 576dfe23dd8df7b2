"""Results next to the printed numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from . import printed
from .preparation import MOST_FEATURES
from .printed import Printed
from .protocols import PROTOCOLS
from .results import Result
from .runner import RIVALS, Available

BASES = ("shopca-numpy", "shopca-lapack", "shopca-average")

# What can make a number differ from the printed one, by the letter that stands for it in the tables.
CAUSES = {
    "r": "the rows are not the paper's: fewer of them, other columns or a substitute",
    "b": "k ≤ d: the eigenvectors of a neighbourhood are what the solver makes of rounding errors",
    "t": "several points at exactly the distance of the last neighbour: which one is taken is arbitrary",
    "c": "text columns or missing values, whose coding the paper does not state",
    "z": "columns that depend on each other: an eigenvalue made of rounding errors enters the gap",
    "w": "PCA to 25, then standardised: all variances are 1 and PCA is an arbitrary rotation",
    "s": "random numbers without a seed in the paper",
}

_SMALLEST = 5e-5  # half of the last printed digit
_CLOSE = 0.03


@dataclass(frozen=True)
class Line:
    """One printed row and the results here.

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
