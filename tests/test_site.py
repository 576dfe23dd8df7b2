"""The documentation site, without building it: what it lists, where its links lead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import shopca_rs
import shopca_rs.dask

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/shopca-rs/shopca-rs"
# Written when the site is built, from the programs in these folders.
BUILT = {"gallery": ROOT / "examples", "in-pictures": DOCS / "tutorials"}
PAGES = sorted([*DOCS.glob("*.md"), *(DOCS / "api").glob("*.md")])
PROGRAMS = sorted(program for folder in BUILT.values() for program in folder.glob("plot_*.py"))
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def listed(page):
    """The names in the autosummary lists of a page."""
    blocks = re.findall(r"\.\. autosummary::\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if re.fullmatch(r"   \w+", line)]


@pytest.mark.parametrize(("page", "module"), [("index.md", shopca_rs), ("dask.md", shopca_rs.dask)])
def test_the_reference_lists_every_public_name_once_and_nothing_else(page, module):
    assert sorted(listed(DOCS / "api" / page)) == sorted(set(module.__all__) - {"__version__"})


def entries(page):
    """The pages in the toctrees of a page, as paths."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    names = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    return [(page.parent / f"{name}.md").resolve() for name in names]


def test_every_page_is_reached_from_the_front_page():
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.parent.name not in BUILT:
            reached.add(page)
            waiting += entries(page)
    assert reached == set(PAGES)


def anchors(page):
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_between_pages_lead_somewhere(page):
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target.parent.name in BUILT:
            program = BUILT[target.parent.name] / f"{target.stem}.py"
            assert target.stem == "index" or program.exists(), link
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize(
    "program", sorted([*(ROOT / "examples").glob("plot_*.py"), *DOCS.glob("tutorials/*.py")])
)
def test_an_example_opens_with_a_title_and_words(program):
    title, line, words = re.match(
        r'"""\n(.+)\n(=+)\n\n(.+?)"""', program.read_text("utf-8"), re.DOTALL
    ).groups()
    assert len(line) >= len(title)
    assert words.strip()


def test_the_gallery_has_at_least_eight_examples():
    assert len(list((ROOT / "examples").glob("plot_*.py"))) >= 8


def test_the_links_of_the_readme_work_on_pypi():
    links = LINK.findall((ROOT / "README.md").read_text("utf-8"))
    assert len(links) > 10
    for link in links:
        assert link.startswith("https://"), f"{link} is relative: PyPI does not know the repository"
        for prefix in (
            f"{REPOSITORY}/blob/main/",
            "https://raw.githubusercontent.com/shopca-rs/shopca-rs/main/",
        ):
            assert not link.startswith(prefix) or (ROOT / link.removeprefix(prefix)).is_file(), link
