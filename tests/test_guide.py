"""The guide for data scientists: its code runs from top to bottom and prints what stands below it."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib

GUIDE = Path(__file__).parents[1] / "docs" / "estimator.md"
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", GUIDE.read_text("utf-8"), re.DOTALL)


def test_the_guide_s_code_prints_what_the_guide_says(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) > 8
    names = {}
    for code, expected in BLOCKS:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue().split() == expected.split(), code
    names["plt"].close("all")
