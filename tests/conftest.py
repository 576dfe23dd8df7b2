"""What all tests share: one profile for hypothesis, the nasty data sets, fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nasty
import pytest
from browsing import CHROMIUM, start_browser
from hypothesis import settings
from shopca_rs.cli.tables import read_table
from threadpoolctl import threadpool_limits

settings.register_profile("suite", derandomize=True, deadline=None, max_examples=40, database=None)
settings.load_profile("suite")

TESTS = Path(__file__).parent


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """NumPy's threads only get in the way of each other on matrices as small as the oracle's."""
    with threadpool_limits(1):
        yield


@pytest.fixture(params=nasty.ALL.values(), ids=nasty.ALL)
def nasty_points(request):
    return request.param()


@pytest.fixture
def start_python():
    """Start a fresh interpreter on some code; it can import the modules of this directory."""
    started = []

    def start(code, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=TESTS,
            env=os.environ | {"PYTHONPATH": str(TESTS)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run_python(start_python):
    """Run code in a fresh interpreter to its end and return what it printed."""

    def run(code, *arguments):
        process = start_python(code, *arguments)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out

    return run


@pytest.fixture
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture
def read(tmp_path):
    """Write a file and read it as a table."""

    def read(content, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


@pytest.fixture
def refused(read, tmp_path):
    """Write a file that must not become a table, and return the one line that says why."""

    def refused(content, name="data.csv", **options):
        with pytest.raises((ValueError, OSError)) as caught:
            read(content, name, **options)
        line = str(caught.value)
        assert "\n" not in line
        assert line.endswith((".", "?"))
        return line.replace(f"{tmp_path}/", "")

    return refused
