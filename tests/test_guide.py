"""The README and the guides: their code runs and prints what stands below it."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize(
    ("page", "at_least"),
    [
        ("README.md", 1),
        ("docs/curvature.md", 3),
        ("docs/estimator.md", 8),
        ("docs/dask.md", 1),
        ("docs/outliers.md", 1),
        ("docs/integrations.md", 3),
        ("docs/faq.md", 2),
        ("docs/index.md", 1),
        ("docs/quality.md", 1),
        ("docs/sparse.md", 1),
        ("docs/stability.md", 4),
        ("docs/pictures.md", 3),
    ],
)
def test_the_page_s_code_prints_what_the_page_says(page, at_least, tmp_path, monkeypatch):
    blocks = BLOCK.findall((ROOT / page).read_text("utf-8"))
    assert len(blocks) >= at_least
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    for code, expected in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue().split() == expected.split(), code
    plt.close("all")
