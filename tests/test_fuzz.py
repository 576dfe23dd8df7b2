"""A short run of every fuzzer, always of the same cases; `make fuzz` is the long one."""

from __future__ import annotations

import sys

import nasty
import numpy as np
import pytest
import reference

from fuzz import oracle
from fuzz.differential import try_case
from fuzz.session import run
from fuzz.worker import generator

CASES = {"numbers": 200, "arguments": 600, "files": 400, "memory": 60}


@pytest.mark.parametrize("kind", CASES)
def test_the_fuzzer_finds_nothing(kind):
    if kind == "memory" and sys.platform != "linux":
        pytest.skip("needs a limit on the address space")
    tally = run(kind, seed=0, cases=CASES[kind], jobs=2)
    assert tally.cases == CASES[kind]
    found = [
        f"{signature}: python -m fuzz --which {kind} --seed 0 --case {cases[0][0]}"
        for signature, cases in tally.findings.items()
    ]
    assert not found, "\n".join(found)


def test_a_case_that_ends_its_process_is_a_finding_and_the_next_ones_are_run(tmp_path, monkeypatch):
    # Stands in for `python -m fuzz.worker KIND SEED FIRST STEP`; case 1 kills it.
    worker = tmp_path / "worker"
    worker.write_text("""#!/bin/sh
number=$5
while true; do
    echo "{\\"begin\\": $number}"
    if [ $number = 1 ]; then kill -KILL $$; fi
    echo '{"what": "call", "outcome": "judged", "calls": 1, "findings": []}'
    number=$((number + $6))
done
""")
    worker.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(worker))
    tally = run("numbers", seed=0, cases=4)
    assert tally.outcomes == {("call", "judged"): 3, ("the process", "died"): 1}
    assert tally.findings == {"the process ended with code -9": [(1, "")]}


def test_a_case_is_a_function_of_its_seed_and_number():
    for number in range(5):
        first, second = (try_case(generator("numbers", 7, number)) for _ in range(2))
        assert first == second


@pytest.mark.parametrize(("n", "d", "k"), [(60, 4, 9), (60, 4, 3), (40, 50, 6), (30, 9, 25), (20, 1, 4)])
def test_the_oracle_in_extended_precision_is_the_reference(n, d, k):
    X = nasty.continuous(n, d)
    indices = reference.neighbors(X, k)
    mean, exponent, slack = oracle.shape_operators(X, indices).mean()
    expected = reference.algorithm_1(X, k, indices, reference.averaged_operator)
    assert slack < 1e-9
    assert reference.relative_error(np.ldexp(mean, 2 * exponent), expected) < 1e-12


def test_the_oracle_knows_no_scale():
    X = nasty.continuous(40, 5)
    indices = reference.neighbors(X, 8)
    mean, exponent, _ = oracle.shape_operators(X, indices).mean()
    for power in (-1000, 1000):
        scaled, top, _ = oracle.shape_operators(np.ldexp(X, power), indices).mean()
        assert np.array_equal(scaled, mean)
        assert top == exponent + power


def test_the_oracle_has_no_digits_where_eigenvalues_are_nearly_equal():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0 + 1e-12], [0.0, -1.0]])
    assert oracle.shape_operators(X, np.arange(4)[None]).slack[0] > 1e-4
