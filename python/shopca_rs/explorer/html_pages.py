"""Pages for a browser: one HTML file with its data and plotly's JavaScript, which needs no network."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import as_array
from ..atomic_files import replacing


def plotly_source() -> str:
    """Return plotly's JavaScript, or raise an error that says how to install it."""
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            "The explorer needs plotly, which cannot be imported. "
            'Install it with pip install "shopca-rs[explore]".'
        ) from error
    source: str = get_plotlyjs()
    return source


def write_page(template: str, path: Path, *, title: str, note: str, data: dict[str, Any]) -> Path:
    """Fill a template of this package with plotly, texts and data, and write the page."""
    parts = {
        "title": html.escape(title),
        "note": html.escape(note),
        "plotly": plotly_source(),
        "data": _as_script(data),
    }
    page = files("shopca_rs.explorer").joinpath(template).read_text(encoding="utf-8")
    # In one pass, so that placeholders inside the inserted text are not filled.
    page = re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return path


def shown_rows(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def as_captions(names: ArrayLike, n: int) -> list[str]:
    """Return a text for each row."""
    listed = as_array(names, "names", "a list of names")
    if listed.shape != (n,):
        raise ValueError(
            f"names must have one entry for each of the {n} rows of X, got shape {listed.shape}."
        )
    return [str(name) for name in listed]


def page_text(value: object) -> str:
    """Escape text for plotly, whose labels are a subset of HTML."""
    return html.escape(str(value), quote=False)


def _as_script(data: dict[str, Any]) -> str:
    """Return JSON that cannot close the script element that contains it."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
