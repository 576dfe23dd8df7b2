"""The worked examples run, and docs/worked-examples.md says what they print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "worked-examples.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=["gains", "fails"])
def printed(request, tmp_path_factory):
    """Run an example; return its name, what it printed and its picture."""
    picture = tmp_path_factory.mktemp("examples") / "picture.png"
    made = subprocess.run(
        [sys.executable, ROOT / "examples" / f"plot_shopca_{request.param}.py", picture],
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return request.param, made.stdout, picture


def test_an_example_prints_the_numbers_of_its_page_and_draws_its_picture(printed):
    name, text, picture = printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    if name == "gains":
        for line in text.splitlines()[:4]:
            data_set, _, pca, _, shopca, _, difference = line.split()
            row = f"| {data_set.replace('_', ' ')} | {pca} | {shopca} | "
            assert row in PAGE
            assert difference.replace("-", "−") in PAGE.split(row)[1].splitlines()[0]
        return
    within, among = (line.partition("[")[2] for line in text.splitlines() if line.startswith("share"))
    for title, shares in (("within the cultivars", within), ("among neighbours", among)):
        numbers = [f"{float(number):.2f}" for number in shares.rstrip("]").split()]
        assert f"| share of variance {title} | {' | '.join(numbers)} |" in PAGE
    assert "planes: 21°" in text
