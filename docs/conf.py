"""The documentation site: ``make docs`` builds it into build/site."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import shopca_rs
from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

HERE = Path(__file__).parent
LIVE = HERE.parent / "build" / "live"
sys.path.insert(0, str(HERE))

from live_pages import write_live_pages

project = "shopca-rs"
author = "The shopca-rs developers"
copyright = author
release = version = shopca_rs.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["tutorials/**"]
templates_path = ["_templates"]

# The pages are also read on GitHub: plain Markdown, with the anchors that GitHub gives its headings.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Types are in the docstrings. A name in single backticks is a link where there is something to link to.
default_role = "py:obj"
rst_prolog = ".. currentmodule:: shopca_rs"
autodoc_typehints = "none"
# The page of a class names it already.
toc_object_entries_show_parents = "hide"
autosummary_generate = True
# A function and the class of its result may differ in case alone, which some file systems do not see.
autosummary_filename_map = {
    f"shopca_rs.{name}": f"shopca_rs.{name}-class"
    for name in shopca_rs.__all__
    if name != name.lower() and name.lower() in shopca_rs.__all__
}
numpydoc_show_class_members = False
nitpicky = True
# Parameters and fitted attributes stand in single backticks too, and other libraries are not linked offline.
nitpick_ignore_regex = [
    ("py:obj", r"[^.]*"),
    ("py:.*", r"(sklearn|numpy|scipy|dask|pandas|matplotlib|Axes)\..*"),
    ("py:obj", r"shopca_rs\.classes"),
]

sphinx_gallery_conf = {
    "examples_dirs": ["../examples", "tutorials"],
    "gallery_dirs": ["gallery", "in-pictures"],
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "within_subsection_order": "gallery_order.position",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "doc_module": ("shopca_rs",),
    "reference_url": {"shopca_rs": None},
    "backreferences_dir": "api/backreferences",
}

html_theme = "pydata_sphinx_theme"
html_title = "shopca-rs"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = [str(LIVE)]
# A page without pages below it has nothing to navigate.
html_sidebars = {"faq": []}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "shopca-rs", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "icon_links": [
        {
            "name": "GitHub",
            "url": "https://github.com/shopca-rs/shopca-rs",
            "icon": "fa-brands fa-github",
        }
    ],
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def escape_markup(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keep |x|, a trailing underscore and letters with a period from being read as markup.

    Docstrings are written for terminals.
    """
    for number, line in enumerate(lines):
        # "k." or an author's initial at the beginning of a paragraph would number a list.
        line = re.sub(r"^(\s*(?:\.\. \[\d+\] )?[A-Za-z])\.(?=\s|$)", r"\1\\.", line)
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [re.sub(r"\||_(?=[,)])", r"\\\g<0>", part) for part in parts[::2]]
            line = "".join(parts)
        lines[number] = line


def skip_fields(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out the fields of named tuples: the docstring of the class describes them."""
    return True if type(obj).__name__ == "_tuplegetter" else None


# The spaces in 7 %, 300 000, k = 7, 950 + 475, 0.1 … 0.3, (< 0.01), [0.5, 0.6], and the first in 0.1 / 0.2.
SPACE_IN_NUMBER = re.compile(
    r"(?<=\d) (?=(?:%|[µm]?s|[KMG]i?B|\d{3})(?!\w))"
    r"|(?<=\b\w) (?=[=≤≥<>] [\d∞−])|(?<=\b\w [=≤≥<>]) (?=[\d∞−])"
    r"|(?<=\d) (?=[+×…±] [+−-]?\d)|(?<=\d [+×…±]) (?=[+−-]?\d)"
    r"|(?<=\(<) (?=\d)|(?<=\d,) (?=[\d.]+\])|(?<=\d) (?=/ [−-]?\d)"
)


def join_numbers(app: Sphinx, doctree: nodes.document) -> None:
    """Keep a line from ending inside a number."""
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, (nodes.literal, nodes.literal_block, nodes.raw, nodes.comment)):
            joined = SPACE_IN_NUMBER.sub("\N{NO-BREAK SPACE}", text)
            if joined != text:
                text.parent.replace(text, nodes.Text(joined))


def mark_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Mark tables whose last column is text, and tables of options: site.css lays them out."""
    for table in doctree.findall(nodes.table):
        rows = [row.children for body in table.findall(nodes.tbody) for row in body.children]
        if any(len(cells[-1].astext()) > 30 for cells in rows):
            table["classes"].append("words")
        if any(head.astext().startswith("option") for head in table.findall(nodes.thead)):
            table["classes"].append("options")


def link_pictures(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Let a picture open alone, at its full size: on a phone the page shows it small."""
    if "body" in context:
        picture = r'(<img(?![^>]*_thumb)[^>]* src="([^"]*_images/[^"]+)"[^>]*>)'
        context["body"] = re.sub(picture, r'<a class="picture" href="\2">\1</a>', context["body"])


def setup(app: Sphinx) -> None:
    """Write the pages that are shown live, and read docstrings as they are meant."""
    write_live_pages(LIVE / "live")
    # GitHub draws these; here they are hidden, with a table beside them.
    app.add_lexer("mermaid", TextLexer)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("doctree-read", join_numbers)
    app.connect("doctree-read", mark_tables)
    app.connect("html-page-context", link_pictures)
    # Before numpydoc, whose priority is 500.
    app.connect("autodoc-process-docstring", escape_markup, priority=400)
