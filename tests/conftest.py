"""What all tests share: one profile for hypothesis, the nasty data sets, fresh interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nasty
import pytest
from hypothesis import settings
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
