"""The numbers printed in the paper's tables, read from a file that is not part of this package."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

FILE = "published_tables.csv"
INDICES = ("ari", "fm", "v_measure")


@dataclass(frozen=True)
class Printed:
    """One method on one data set in one table.

    Attributes
    ----------
    table : int
        1, 2 or 3.
    data_set : str
        Its name.
    method : {"pca", "isomap", "umap", "shopca"}
        The method.
    scores : tuple of float
        ARI, Fowlkes-Mallows and V-measure, as in `INDICES`.
    weight : float or None
        λ, for SHOPCA.
    """

    table: int
    data_set: str
    method: str
    scores: tuple[float, ...]
    weight: float | None = None


def read_printed(folder: Path | None) -> list[Printed]:
    """Read the printed tables.

    Parameters
    ----------
    folder : Path or None
        Folder with published_tables.csv: columns table, dataset, method, ari, fm, v_measure, lambda.

    Returns
    -------
    list of Printed
        All rows; none without a folder.

    Raises
    ------
    ValueError
        If the file is not there or not such a table.
    """
    if folder is None:
        return []
    path = folder / FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [_printed(row) for row in csv.DictReader(file)]
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read: {error.strerror}. Give the folder that has {FILE}."
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} must have the columns table, dataset, method, {', '.join(INDICES)} and lambda, "
            f"with numbers in the last four: {error}."
        ) from None


def _printed(row: dict[str, str]) -> Printed:
    scores = tuple(float(row[index]) for index in INDICES)
    weight = float(row["lambda"]) if row["lambda"] else None
    return Printed(int(row["table"]), row["dataset"], row["method"].lower(), scores, weight)
