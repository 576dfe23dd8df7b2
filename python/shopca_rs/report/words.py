"""The sentences of a report: every number with what it means. Plain text; the page escapes it."""

from __future__ import annotations

import numpy as np

from ..classes import Classes, short_name
from ..estimators.summary import chosen_gap
from ..evaluation.embedding_quality import Quality
from ..evaluation.stability_result import STABLE_ANGLE, Stability
from ..plotting.drawing import spaced
from .findings import FEWEST_KNOWN, MOST_DOUBTFUL, Findings, Subject

# Features that a sentence names, and the share of the largest loading that the others must have.
_MOST_NAMED = 5
_WORTH_NAMING = 0.3
# Number of components that are described.
MOST_COMPONENTS = 6
# Differences of the AUC below this, or within this many standard errors, are not reported.
_SAME_AUC = 0.02
_ERRORS = 2.0
# Largest angle, in degrees, between two subspaces that hardly differ.
_SAME_SPACE = 5.0


def in_short(subject: Subject, findings: Findings) -> list[str]:
    """Return the main findings, a sentence or two each."""
    told = [against_pca(findings, "SHOPCA")]
    if findings.quality:
        told.append(quality_against_pca(findings, "SHOPCA"))
    if "SHOPCA" in findings.stability:
        told.append(stability_verdict("SHOPCA", findings.stability["SHOPCA"]))
    told += loading_sentences(subject, findings, "SHOPCA")[:1]
    told.append(curvature(findings)[0])
    return told


def table(subject: Subject) -> list[str]:
    """Return a description of the table."""
    n, d = subject.X.shape
    told = [
        f"{_counted(n, 'row')} and {_counted(d, 'column')} of numbers are embedded. {subject.preparation}"
    ]
    if subject.colors is not None:
        told.append(_colors(subject))
    return told


def sampling(subject: Subject, findings: Findings) -> str | None:
    """Return which rows the later parts are estimated from, if not from all."""
    if findings.sampled is None:
        return None
    return (
        f"The embeddings are fitted to all {spaced(len(subject.X))} rows. Quality is estimated at "
        f"{spaced(len(findings.sampled))} random rows, with neighbours among all rows. Stability and "
        "curvature use only as many random rows, so with all rows they would be better than shown."
    )


def fitted(findings: Findings) -> list[str]:
    """Return how each method arrived at its components."""
    shopca, m = findings.models["SHOPCA"], findings.m
    alpha = f"{shopca.alpha_:.3g}".replace("inf", "∞")
    told = [
        f"Each point is a row, placed by {_counted(m, 'component')}: linear combinations of the columns. "
        "No method uses the colours. Points that are close to each other have similar rows, to the degree "
        "that the quality below says.",
        f"SHOPCA is PCA whose covariance is bent by how the data spread around each point. It uses "
        f"k = {shopca.n_neighbors_} nearest neighbours and weights that spread with α = {alpha}; α = 0 would "
        f"be PCA. {against_pca(findings, 'SHOPCA')}",
    ]
    if "LPP" in findings.models:
        told.append(
            f"LPP, locality preserving projections, keeps neighbours together: it uses "
            f"k = {findings.models['LPP'].n_neighbors_}. {against_pca(findings, 'LPP')}"
        )
    else:
        told.append(f"LPP cannot be computed for this table: {findings.absent['LPP']}")
    told.append("PCA keeps as much of the variance as this number of components can. " + variance(findings))
    return told


def against_pca(findings: Findings, method: str) -> str:
    """Return how far the components of a method are from those of PCA."""
    m, d = findings.models["PCA"].components_.shape
    angles = findings.angles_to_pca(method)
    if m == d:
        return f"With as many components as columns, {method} and PCA span the same space."
    what = "direction" if m == 1 else "plane" if m == 2 else "space"
    if angles[-1] <= _SAME_SPACE:
        return f"The {what} of {method} is within {angles[-1]:.1f}° of that of PCA: they hardly differ."
    listed = _listed([f"{angle:.0f}°" for angle in angles[:MOST_COMPONENTS]])
    more = ", …" if m > MOST_COMPONENTS else ""
    which = "angle between the" if m == 1 else "principal angles between the"
    return (
        f"The {which} {what} of {method} and that of PCA {'is' if m == 1 else 'are'} {listed}{more}: 0° is a "
        "direction that both share, 90° one that the other lacks."
    )


def embedding_alternative(subject: Subject, findings: Findings, method: str) -> str:
    """Return what the picture of an embedding shows."""
    told = f"Scatter plot of {_counted(len(subject.X), 'row')} by the first components of {method}"
    if isinstance(subject.colors, Classes):
        told += f", coloured by {_counted(len(subject.colors.names), 'class', 'classes')}"
        told += f" of {short_name(subject.label)}" if subject.label else ""
    return f"{told}. {embedding_caption(findings, method)}"


def embedding_caption(findings: Findings, method: str) -> str:
    """Return the caption of the picture of an embedding."""
    share = float(findings.models[method].explained_variance_ratio_.sum())
    return f"{method}: its {_counted(findings.m, 'component')} together explain {share:.1%} of the variance."


def loading_sentences(subject: Subject, findings: Findings, method: str) -> list[str]:
    """Return which columns contribute most to each of the first components."""
    table = findings.loadings(method, subject.names)
    told = []
    for j in range(min(len(table), MOST_COMPONENTS)):
        top = table.top(j, _MOST_NAMED)
        named = [
            f"{'high' if value > 0 else 'low'} {short_name(name)} ({signed(value, 2)})"
            for name, value in top
            if abs(value) >= _WORTH_NAMING * abs(top[0][1])
        ]
        told.append(f"A row far along component {j + 1} of {method} has {_listed(named)}.")
    return told


def variance(findings: Findings) -> str:
    """Return how much of the variance the principal components explain."""
    shares = np.cumsum(findings.full_pca.explained_variance_ratio_)
    m = findings.m
    needed = int(np.searchsorted(shares, 0.9 - 1e-12)) + 1
    return (
        f"The first {_counted(m, 'principal component')} explain {shares[m - 1]:.1%} of the variance; "
        f"{needed} of {len(shares)} {'is' if needed == 1 else 'are'} needed for 90%."
    )


def eigengap(findings: Findings) -> str:
    """Return how clearly the components of SHOPCA are separated from the rest."""
    gap = chosen_gap(findings.models["SHOPCA"])
    return (
        f"The eigengap after component {findings.m} is {gap:.3g} of the sum of all |eigenvalues|: the "
        "larger, the more clearly these components are separated from the next one. α is chosen to "
        "maximise it."
    )


QUALITY_MEANINGS = {
    "Trustworthiness": "are neighbours in the picture neighbours in the data? 1 if all are, about 0.5 by "
    "chance. Where it is low, points that look close may be far apart.",
    "Continuity": "are neighbours in the data neighbours in the picture? 1 if all are, about 0.5 by chance. "
    "Where it is low, neighbours may be far apart in the picture.",
    "AUC of R_NX": "both in one number for neighbourhoods of every size, with more weight on small ones: 1 "
    "if all neighbours are preserved, 0 for chance.",
}


def quality_against_pca(findings: Findings, method: str) -> str:
    """Return whether a method preserves neighbourhoods better than PCA."""
    ours, pca = findings.quality[method], findings.quality["PCA"]
    error = float(np.hypot(ours.standard_error.auc, pca.standard_error.auc))
    difference = ours.auc - pca.auc
    if abs(difference) <= max(_SAME_AUC, _ERRORS * error):
        verdict = "about as well as"
    else:
        verdict = "better than" if difference > 0 else "worse than"
    return (
        f"{method} preserves neighbourhoods {verdict} PCA: the AUC of R_NX is {ours.auc:.2f} against "
        f"{pca.auc:.2f} (1 if all neighbours are preserved, 0 for chance)."
    )


def quality_row(found: Quality) -> list[str]:
    """Return the numbers of a row of the table of quality, with standard errors where there are any."""
    errors = found.standard_error
    return [
        f"{value:.3f}" + (f" ± {error:.3f}" if error else "")
        for value, error in (
            (found.trustworthiness, errors.trustworthiness),
            (found.continuity, errors.continuity),
            (found.auc, errors.auc),
        )
    ]


STABILITY_MEANING = (
    "Would the picture look the same with other rows of the same kind? Each method is fitted again to random "
    "halves of the rows. The principal angles say how much the components change: 0° not at all, 90° "
    f"completely. Up to {STABLE_ANGLE:g}° (the largest angle, median over the halves) counts as stable."
)


def stability_verdict(method: str, found: Stability) -> str:
    """Return whether the components of a method would be the same with other rows."""
    turned = found.angles[:, -1]
    within = int((turned <= STABLE_ANGLE).sum())
    angle = f"{found.median_angle:.0f}°"
    spread = (
        f"in the median; {within} of {len(turned)} halves stay within {STABLE_ANGLE:g}°, and chance would be "
        f"{found.random_angle:.0f}°"
    )
    told = {
        "stable": f"{method} is stable: on random halves of the rows its components turn by {angle} "
        f"({spread}).",
        "partly stable": f"{method} is partly stable: on random halves of the rows its components turn by "
        f"{angle} ({spread}). Some of what they show depends on the choice of rows.",
        "no better than chance": f"{method} is no better than chance: on random halves of the rows its "
        f"components turn by {angle} ({spread}), and two halves agree no better than random "
        "directions. Do not interpret its axes.",
        "whole space": f"{method} has as many components as there are columns: they always span "
        "the whole space, so stability has no meaning.",
    }
    return told[found.verdict]


def curvature(findings: Findings) -> list[str]:
    """Return what is known about the curvature of the data."""
    bent = findings.curvature
    if bent is None:
        return [f"The sample cannot carry curvature. {findings.absent['curvature']}"]
    few = findings.bent_rows is not None and findings.bent_rows is not findings.sampled
    judged = f"judged from {_counted(len(bent.valid), 'random row')}, as there are many columns, and "
    found = (
        f"{judged if few else ''}taken as a surface of dimension m = {bent.intrinsic_dim} (estimated), with "
        f"k = {bent.n_neighbors} neighbours, "
    )
    flagged = int((~bent.valid).sum())
    if flagged == len(bent.valid):
        found += f"at none of {spaced(flagged)} points the neighbours determine a fit"
    else:
        found += (
            f"the data have a standard error that exceeds the curvature itself at "
            f"{findings.doubtful_share:.0%} of the points"
        )
        if flagged:
            of = f"{spaced(flagged)} of {spaced(len(bent.valid))}"
            found += f"; at {of} points the neighbours do not determine a fit"
    if findings.known_share < FEWEST_KNOWN:
        return [f"The sample cannot carry curvature: {found}. It has too few rows for that dimension."]
    if not findings.carries_curvature:
        return [
            f"The sample cannot carry curvature: {found}. Too much of it may be noise; the share must "
            f"be at most {MOST_DOUBTFUL:.0%}."
        ]
    mean = bent.mean[bent.valid]
    low, middle, high = np.percentile(mean, [10, 50, 90])
    return [
        f"The sample carries curvature: {found}.",
        f"The mean curvature has a median of {middle:.3g}; 80% of the points lie between {low:.3g} and "
        f"{high:.3g}. It is the inverse of a radius: a sphere of radius r has 1/r everywhere, a flat piece "
        "0. Its unit is the inverse of that of the embedded columns.",
    ]


def _colors(subject: Subject) -> str:
    what = f" show {short_name(subject.label)}" if subject.label else ""
    if isinstance(subject.colors, Classes):
        missing = int((subject.colors.codes < 0).sum())
        kinds = _counted(len(subject.colors.names), "class", "classes")
    else:
        missing = int(np.isnan(subject.colors).sum()) if subject.colors is not None else 0
        kinds = "numbers on a scale"
    told = f"Colours{what}: {kinds}"
    if missing:
        told += f"; {_counted(missing, 'row')} without a label {'is' if missing == 1 else 'are'} grey"
    return told + ". They play no part in the embeddings."


def signed(value: float, digits: int) -> str:
    """Return a number with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{spaced(count)} {one if count == 1 else many or one + 's'}"


def _listed(parts: list[str]) -> str:
    if not parts:
        return "nothing in particular"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
