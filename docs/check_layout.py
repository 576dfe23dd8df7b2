"""Check how a built site looks in a browser, on a desktop and on a phone.

No page is wider than its window, no text is cut off, every picture is shown, no script fails.

Run it with ``python docs/check_layout.py build/site``; ``make docs`` does.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browsing import CHROMIUM, resized, start_browser

WIDTHS = (1280, 390)

# The theme says this of its own where a page is a file.
NO_FAULT = "Got invalid theme mode"

# What is wrong with the open page. A text may end in an ellipsis, and one for screen readers is hidden.
FAULTS = """
const shown = element => element.getClientRects().length > 0;
const name = element => element.tagName.toLowerCase() + ' "' + element.textContent.trim().slice(0, 40) + '"';
const faults = [];
if (document.documentElement.scrollWidth > innerWidth)
  faults.push('is ' + document.documentElement.scrollWidth + ' pixels wide');
for (const element of document.querySelectorAll('body *')) {
  const style = getComputedStyle(element);
  if (style.overflowX === 'hidden' && style.textOverflow !== 'ellipsis' && shown(element)
      && element.clientWidth > 1 && element.scrollWidth > element.clientWidth + 2)
    faults.push('cuts off ' + name(element));
}
for (const image of document.images)
  if (image.complete && image.naturalWidth === 0) faults.push('does not show ' + image.src);
return faults;
"""


def main(site: Path) -> int:
    """Print what is wrong and return how much."""
    if CHROMIUM is None:
        print("The layout was not checked: no chromium is installed")
        return 0
    # Pages written by the package are checked by its own tests.
    pages = sorted(p for p in site.rglob("*.html") if p.parent.name not in ("live", "_static"))
    browser = start_browser()
    wrong = []
    try:
        for width in WIDTHS:
            resized(browser, width, 900)
            for page in pages:
                browser.get(page.as_uri())
                faults = browser.execute_script(FAULTS)
                messages = [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"]
                faults += [message for message in messages if NO_FAULT not in message]
                wrong += [f"{page.relative_to(site)} at {width} pixels: {fault}" for fault in faults]
    finally:
        browser.quit()
    print("\n".join(wrong) or f"{site}: {len(pages)} pages fit windows of {WIDTHS[0]} and {WIDTHS[1]} pixels")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1]).resolve()), 1))
