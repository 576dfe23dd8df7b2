"""The curvature of the surface that the rows of a table lie on, and notes on its limits."""

from __future__ import annotations

import warnings
from argparse import Namespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry.quantities import doubtful
from ...geometry.second_form import curvatures
from . import options
from .messages import say

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...geometry.forms import Curvatures

# A note is printed if the standard error exceeds |II| at more than this fraction of the points.
_MOST = 0.5

# Names of arguments in the library, and of the options they correspond to.
_WORDS = {
    'n_neighbors="auto"': "--neighbors auto",
    "n_neighbors = ": "--neighbors ",
    "n_neighbors": "--neighbors",
    "intrinsic_dim": "--intrinsic-dim",
    "orient needs": "--orient needs",
    "Use orient=False": "Leave --orient out",
    "color must": "--color must",
    "they are flagged in `valid`, and their numbers are NaN": "they are flagged and have no curvature",
    "X must": "The table must",
    "operator_curvatures(X, k) for the paper's operator, which was curvatures(X, k) in earlier versions": (
        "--operator paper"
    ),
}


def surface_curvatures(args: Namespace, X: NDArray[np.float64], **choices: Any) -> Curvatures:
    """Estimate the curvatures at each row, and print notes on their limits.

    Parameters
    ----------
    args : Namespace
        The arguments.
    X : ndarray of shape (n, d)
        The numbers of the table, standardised or not.
    **choices
        What `curvatures` takes.

    Returns
    -------
    bent : Curvatures
        The curvatures.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            bent = curvatures(X, n_jobs=args.jobs, progress=options.worth_a_bar(args, X), **choices)
        except ValueError as error:
            raise ValueError(in_words_of_options(error)) from error
    for warning in caught:
        if issubclass(warning.category, UserWarning | RuntimeWarning):
            say(args, in_words_of_options(warning.message))
    known = int(bent.valid.sum())
    share = float(doubtful(bent).sum()) / max(known, 1)
    if share > _MOST:
        say(
            args,
            f"For {share:.0%} of the points the standard error exceeds |II|: this sample is too small or too "
            f"noisy for its dimension m = {bent.intrinsic_dim}.",
        )
    return bent


def in_words_of_options(text: object) -> str:
    """Replace the names of arguments in a message by those of the options.

    Parameters
    ----------
    text : object
        An error, a warning or a sentence.

    Returns
    -------
    sentence : str
        The message with the names of the options.

    Examples
    --------
    >>> in_words_of_options("intrinsic_dim must be at least 1, got 0.")
    '--intrinsic-dim must be at least 1, got 0.'
    """
    sentence = str(text)
    for name, word in _WORDS.items():
        sentence = sentence.replace(name, word)
    return sentence
