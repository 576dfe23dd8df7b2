"""The components of a model along one of its parameters, matched from one value to the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

Matrix = NDArray[np.float64]


class End(NamedTuple):
    """The first or the last value of the parameter.

    Attributes
    ----------
    button, tip : str
        The text of the button that goes there, and its tooltip.
    remark : str
        What the value stands for, if it has a name of its own.
    """

    button: str
    tip: str
    remark: str = ""


class Axis(NamedTuple):
    """The parameter: its values, how they are named and where they lie on an axis.

    Attributes
    ----------
    symbol, title, slider : str
        Its symbol, the title of its axis and the name of its slider.
    values : list of float or None
        Ascending; None for infinity.
    names : list of str
        The values as text.
    ends : tuple of End
        The first and the last.
    places : list of float
        Where the values lie, ascending.
    ticks : tuple of list of float and list of str
        Places with a label, and the labels.
    """

    symbol: str
    title: str
    slider: str
    values: list[float | None]
    names: list[str]
    ends: tuple[End, End]
    places: list[float]
    ticks: tuple[list[float], list[str]]


class Line(NamedTuple):
    """A number at every value of the parameter.

    Attributes
    ----------
    name : str
        What it is.
    values : list of float or None
        None where it does not exist.
    """

    name: str
    values: list[float | None]


class ComponentPath(NamedTuple):
    """The components at every value of the parameter.

    Attributes
    ----------
    subject, note : str
        What the page is about, for its heading, and a sentence below it.
    axis : Axis
        The parameter.
    fitted : int
        Index of the fitted value.
    directions : list of ndarray of shape (d, m)
        For each value the components as columns, in the space where the neighbours were found.
    angles : ndarray of shape (a,)
        Largest principal angles to the subspace of PCA, in degrees.
    spectrum, measure : str
        The title of what follows, and its name in a sentence.
    lines : list of Line
        What the eigenvalues are at each value.
    """

    subject: str
    note: str
    axis: Axis
    fitted: int
    directions: list[Matrix]
    angles: Matrix
    spectrum: str
    measure: str
    lines: list[Line]


def matched(directions: list[Matrix], fitted: int, metric: Matrix) -> list[Matrix]:
    """Match the columns in order and sign to those at the next value, from the fitted one to both ends.

    Parameters
    ----------
    directions : list of ndarray of shape (d, m)
        Components as columns.
    fitted : int
        Index of those that stay as they are.
    metric : ndarray of shape (d, d)
        The inner product by which columns are alike. With Σ it is the correlation of their scores.
    """
    columns = list(directions)
    for step in range(fitted + 1, len(columns)):
        columns[step] = _like(columns[step], columns[step - 1], metric)
    for step in reversed(range(fitted)):
        columns[step] = _like(columns[step], columns[step + 1], metric)
    return columns


def largest_angle(columns: Matrix, others: Matrix) -> float:
    """Return the largest principal angle between the subspaces of two sets of columns, in degrees."""
    return float(np.degrees(scipy.linalg.subspace_angles(columns, others).max()))


def _like(columns: Matrix, others: Matrix, metric: Matrix) -> Matrix:
    """Reorder and flip columns so that each is as close as possible to its counterpart."""
    left, right = (_units(each, metric) for each in (others, columns))
    cosines = left.T @ metric @ right
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(order)), order] < 0, -1.0, 1.0)
    alike: Matrix = columns[:, order] * signs
    return alike


def _units(columns: Matrix, metric: Matrix) -> Matrix:
    """Return the columns with length 1; those of length 0 as they are."""
    columns = columns / np.abs(columns).max(axis=0)
    lengths = np.sqrt(np.einsum("ij,ik,kj->j", columns, metric, columns).clip(0))
    units: Matrix = columns / np.where(lengths > 0, lengths, 1.0)
    return units
