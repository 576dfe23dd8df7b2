"""Check a built site: its links lead somewhere, it loads nothing from elsewhere, its search finds words.

No list may be numbered by letters: such a list is a misread symbol or initial. A link is not named after a
file of the sources, and every picture has a text.

Run it with ``python docs/check_site.py build/site``; ``make docs`` does.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import snowballstemmer

WORDS = ("degenerate", "trustworthiness", "windows", "curvature", "lpp")


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.lettered = False
        self.pictures: list[str] = []
        self.named_files: list[str] = []
        self.in_link = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what the tag names or points to."""
        values = {name: value for name, value in attrs if value is not None}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        self.lettered |= tag == "ol" and "alpha" in values.get("class", "")
        self.in_link |= tag == "a"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", None) and "href" in values:
            self.loaded.append(values["href"])
        elif "src" in values:
            self.loaded.append(values["src"])
            # The theme's logo and the thumbnails of the gallery stand beside a text.
            if (
                tag == "img"
                and not values.get("alt")
                and "_thumb" not in values["src"]
                and "_images" in values["src"]
            ):
                self.pictures.append(values["src"])

    def handle_data(self, data: str) -> None:
        """Collect the texts that name a page of the sources."""
        if self.in_link and re.fullmatch(r"(docs/)?[\w-]+\.md", data.strip()):
            self.named_files.append(data.strip())

    def handle_endtag(self, tag: str) -> None:
        """Leave a link."""
        self.in_link &= tag != "a"


def broken_pages(site: Path) -> list[str]:
    """Return a line for every link that leads nowhere, for what is fetched, and for misread letters."""
    # Pages written by the package are checked by its own tests, and hold all they need.
    pages = {path: Page(path) for path in site.rglob("*.html") if path.parent.name not in ("live", "_static")}
    found = []
    for path, page in pages.items():
        if page.lettered:
            found.append(f"{path.relative_to(site)} has a list numbered by letters")
        found += [f"{path.relative_to(site)} shows {picture} without a text" for picture in page.pictures]
        found += [f"{path.relative_to(site)} has a link called {name}" for name in page.named_files]
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    found.append(f"{path.relative_to(site)} loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists():
                found.append(f"{path.relative_to(site)} links to {link}, which is not there")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{path.relative_to(site)} links to {link}, which has no such anchor")
    return found


def unknown_words(site: Path) -> list[str]:
    """Return the words of `WORDS` that the search does not find."""
    index = (site / "searchindex.js").read_text("utf-8")
    stem = snowballstemmer.stemmer("english").stemWord
    return [word for word in WORDS if not re.search(rf'[{{,]"?{re.escape(stem(word))}"?:', index)]


def main(site: Path) -> int:
    """Print what is wrong and return how much."""
    wrong = broken_pages(site.resolve()) + [
        f"the search does not find {word}" for word in unknown_words(site)
    ]
    print("\n".join(wrong) or f"{site}: every link leads somewhere, and the search finds {', '.join(WORDS)}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 1))
