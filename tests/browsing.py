"""Pages for a browser: the data in them, and a real browser that opens them."""

from __future__ import annotations

import json
import re
import shutil

# Texts that a page must show as they are.
EVIL = [
    "<script>document.title='owned'</script>",
    "</script><b>bold</b> & &lt;",
    "%{x} {{data}} $a$ \u2028 Ω",
]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def contents(path):
    """The data in the page, as its script reads them."""
    found = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    assert len(found) == 1
    return json.loads(found[0])


def start_browser():
    """Start a browser that can reach no network and logs what its pages do."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    flags = [
        "headless=new",
        "no-sandbox",
        "window-size=1300,800",
        # No name resolves: a request to anywhere would fail and be logged.
        "host-resolver-rules=MAP * ~NOTFOUND",
        # 3-D without a graphics card.
        "enable-unsafe-swiftshader",
    ]
    for flag in flags:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Chrome(options=options, service=Service(shutil.which("chromedriver")))


def waited(browser, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20).until(condition)


def opened(browser, path):
    browser.get(path.as_uri())
    waited(browser, lambda b: b.execute_script("return document.body.dataset.ready === 'yes'"))
    return browser


def accessibility_faults(browser):
    """What axe finds against the WCAG and good practice in the open page, a line for each place."""
    import pytest

    selenium = pytest.importorskip("axe_core_python.selenium")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:150]}"
        for rule in selenium.Axe().run(browser)["violations"]
        for node in rule["nodes"]
    ]


def resized(browser, width, height):
    """Give the page the size of a device; a window of its own cannot be as narrow as a phone."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def requests(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]


def drawn_points(browser):
    """Where the browser has painted the points, from the marks themselves."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#embedding .scatterlayer .trace:first-child path.point')]"
        ".map(p => p.getAttribute('transform'))"
    )


def text(browser, name):
    """The text of an element of the page."""
    return browser.execute_script(f"return document.getElementById('{name}').textContent")


def settled(browser, words):
    """Wait until the explorer's slider is at a value with these words and its points have arrived."""
    waited(browser, lambda b: words in text(b, "setting") and b.execute_script("return drawn === target"))
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
