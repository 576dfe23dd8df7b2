"""The page of a report: sections of sentences, tables and pictures in one HTML file without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

import numpy as np

from .. import __version__
from ..classes import short_name
from . import words
from .findings import Findings, Subject
from .pictures import Picture

_MOST_FEATURES = 15
# Nothing is loaded, nothing runs, nothing is sent.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def as_page(title: str, subject: Subject, findings: Findings, pictures: dict[str, list[Picture]]) -> str:
    """Return the page as HTML; every text from the data is escaped.

    Parameters
    ----------
    title : str
        Its title.
    subject : Subject
        The table.
    findings : Findings
        What was found in it.
    pictures : dict of str to list of Picture
        The pictures by section.

    Returns
    -------
    page : str
        The HTML.
    """
    sections = {
        ("short", "In short"): _items(words.in_short(subject, findings)),
        ("table", "What was read and changed"): _table_section(subject, findings),
        ("embedding", "The embeddings"): _paragraphs(words.fitted(findings))
        + _figures(pictures["embedding"], "row"),
        ("loadings", "What the components are made of"): _loadings_section(subject, findings, pictures),
        ("scree", "How many components stand out"): _paragraphs(
            [words.variance(findings), words.eigengap(findings)]
        )
        + _figures(pictures["scree"], "row"),
        ("quality", "Can the pictures be trusted?"): _quality_section(findings, pictures),
        ("stability", "Would they look the same with other rows?"): _stability_section(findings, pictures),
        ("curvature", "Curvature"): _paragraphs(words.curvature(findings))
        + _figures(pictures.get("curvature", []), "alone"),
    }
    links = "".join(f'<li><a href="#{name}">{escape(heading)}</a></li>' for name, heading in sections)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-heading">\n'
        f'<h2 id="{name}-heading">{escape(heading)}</h2>\n{content}</section>\n'
        for (name, heading), content in sections.items()
    )
    style = files("shopca_rs.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the findings</a>\n'
        f"<header><h1>{escape(title)}</h1></header>\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f'<main id="content" tabindex="-1">\n{body}</main>\n'
        f"<footer><p>Written by shopca-rs {escape(__version__)}. This file is self-contained: it loads "
        "nothing and sends nothing.</p></footer>\n</body>\n</html>\n"
    )


def _table_section(subject: Subject, findings: Findings) -> str:
    told = words.table(subject)
    sampling = words.sampling(subject, findings)
    if sampling is not None:
        told.append(sampling)
    changes = subject.notes + findings.remarks
    content = _paragraphs(told)
    if not changes:
        return content + _paragraphs(["Nothing else was changed."])
    return content + "<h3>Notes</h3>\n" + _items(changes)


def _loadings_section(subject: Subject, findings: Findings, pictures: dict[str, list[Picture]]) -> str:
    content = _paragraphs(
        [
            "A component is a weighted sum of the columns. The weights are its loadings: the larger the "
            "absolute value, the more the column contributes. The sign of a whole component is arbitrary; "
            "only the relative signs of its loadings matter. The squared loadings of each component of "
            "SHOPCA and PCA sum to 1. LPP uses another scale, so compare its loadings only with each other."
        ]
    )
    for method in findings.models:
        content += f"<h3>{method}</h3>\n" + _items(words.loading_sentences(subject, findings, method))
    content += _figures(pictures["loadings"], "row")
    return content + _loadings_table(subject, findings)


def _loadings_table(subject: Subject, findings: Findings) -> str:
    """Return the largest loadings of SHOPCA, with their spread if it comes from the same rows."""
    loadings = findings.loadings("SHOPCA", subject.names)
    values = loadings.values[: words.MOST_COMPONENTS]
    stable = findings.stability.get("SHOPCA") if findings.sampled is None else None
    order = np.argsort(-np.abs(values).max(axis=0), kind="stable")[:_MOST_FEATURES]
    rows = []
    for feature in order:
        cells = [
            words.signed(values[j, feature], 3)
            + ("" if stable is None else f" ± {stable.loadings_std[j, feature]:.2f}")
            for j in range(len(values))
        ]
        rows.append((short_name(subject.names[feature]), cells))
    caption = "Loadings of SHOPCA"
    if len(order) < len(subject.names):
        caption += f", the {len(order)} largest of {len(subject.names)} columns"
    if stable is not None:
        caption += "; ± is the standard deviation over fits to random halves of the rows"
    heads = ["Column", *(f"Component {j + 1}" for j in range(len(values)))]
    return _table("loadings-table", caption + ".", heads, rows)


def _quality_section(findings: Findings, pictures: dict[str, list[Picture]]) -> str:
    if not findings.quality:
        return _paragraphs([f"Quality cannot be computed for this table. {findings.absent['quality']}"])
    k = findings.quality["PCA"].n_neighbors
    told = [words.quality_against_pca(findings, name) for name in findings.quality if name != "PCA"]
    rows = [(name, words.quality_row(found)) for name, found in findings.quality.items()]
    caption = f"Quality of each embedding; trustworthiness and continuity for {k} neighbours."
    if findings.sampled is not None:
        caption += " ± is the standard error of the sample."
    meanings = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>"
        for name, meaning in words.QUALITY_MEANINGS.items()
    )
    return (
        _paragraphs([" ".join(told)])
        + _table("quality-table", caption, ["Method", *words.QUALITY_MEANINGS], rows)
        + f"<dl>{meanings}</dl>\n"
        + _figures(pictures["quality"], "alone")
    )


def _stability_section(findings: Findings, pictures: dict[str, list[Picture]]) -> str:
    told = [words.stability_verdict(name, found) for name, found in findings.stability.items()]
    told += [f"{part}: {reason}" for part, reason in findings.absent.items() if part.startswith("stability")]
    content = _paragraphs([words.STABILITY_MEANING]) + _items(told)
    if not findings.stability:
        return content
    rows = [
        (
            name,
            [
                f"{found.median_angle:.1f}°",
                f"{found.random_angle:.1f}°",
                f"{found.agreement:.2f}",
                found.verdict,
            ],
        )
        for name, found in findings.stability.items()
    ]
    heads = ["Method", "Largest angle", "By chance", "Agreement of two halves", "Verdict"]
    caption = (
        "Stability over random halves of the rows. Agreement is 1 if two disjoint halves give the same "
        "components and 0 if they agree no better than random ones."
    )
    return content + _table("stability-table", caption, heads, rows) + _figures(pictures["stability"], "row")


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>\n" for text in texts)


def _items(texts: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{escape(text)}</li>\n" for text in texts) + "</ul>\n"


def _figures(pictures: Sequence[Picture], arrangement: str) -> str:
    if not pictures:
        return ""
    figures = "".join(
        f'<figure><img src="{picture.source}" alt="{escape(picture.alternative)}">'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>\n"
        for picture in pictures
    )
    return f'<div class="{arrangement}">\n{figures}</div>\n'


def _table(name: str, caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a table whose first column names the rows; it scrolls in a narrow window, also by keyboard."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>\n"
        for name, cells in rows
    )
    # The caption is outside, so that it does not scroll with the table.
    return (
        f'<p class="caption" id="{name}">{escape(caption)}</p>\n'
        f'<div class="table" role="region" aria-labelledby="{name}" tabindex="0">'
        f'<table aria-labelledby="{name}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )
