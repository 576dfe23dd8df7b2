"""The kind `memory`: calls that run out of memory, each in a process of its own.

Which of several threads meets the limit first is a matter of luck: a replay may need some attempts.
"""

from __future__ import annotations

import os
import re
import resource
import select
import signal
import tempfile

import numpy as np
import scipy.linalg
import shopca_rs
from shopca_rs import SHOPCA

from .clouds import choose
from .trial import Trial, raised

# Seconds a call may take.
PATIENCE = 60

# Bytes taken at a time.
_BLOCK = 2**18

# Longest text a child sends; a pipe takes it at once.
LONGEST = 4000


def prepare():
    """Let NumPy and SciPy allocate what they keep for good, so that only our own requests are refused."""
    square = np.random.default_rng(0).normal(size=(300, 300))
    for solve in (np.linalg.eigh, np.linalg.eigvals, scipy.linalg.eigh, scipy.linalg.eig, np.linalg.svd):
        solve(square @ square.T)
    SHOPCA(2).fit(square[:, :40])


def try_case(rng):
    """Call a function with a random limit on the address space."""
    d = int(10 ** rng.uniform(0, 2))
    n = int(min(10 ** rng.uniform(1.5, 4), 2e5 / d)) + 20
    k = int(min(10 ** rng.uniform(0.4, 1.8), n - 1, 4e5 / n + 2))
    name = choose(rng, *CALLS)
    jobs = int(choose(rng, 1, 2, 2, 8, 64))
    # From far too little to enough for a call that keeps some 40 MB to spare and a heap for each thread.
    megabytes = 10 ** rng.uniform(-1, 2.8)
    options = {"n_jobs": jobs}
    X = rng.normal(size=(n, d))
    trial = Trial(name, calls=1)
    code, text = _in_a_child(lambda: CALLS[name](X, k, options), megabytes)
    context = f"n={n} d={d} k={k} {options}, {megabytes:.1f} MB to spare: {text}"
    if os.WIFSIGNALED(code):
        died = signal.Signals(os.WTERMSIG(code)).name
        trial.outcome = "died"
        trial.report(f"died of {died}: {_reason(text)}", context)
    else:
        trial.outcome = text if text in ("answered", "refused") else "failed"
        trial.check(trial.outcome != "failed", f"{_reason(text)}", context)
    return trial


def _reason(text):
    """Return what failures of one cause have in common: their words without numbers."""
    return " ".join(re.sub(r"\d+", "N", text[:100]).split())


def _in_a_child(call, megabytes):
    """Return how a child ended in which the call may take so much memory more, and its last words."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            os.write(writer, _outcome(call, megabytes).encode(errors="replace")[:LONGEST])
            os._exit(0)
        os.close(writer)
        ready, _, _ = select.select([reader], [], [], PATIENCE)
        if not ready:
            os.kill(child, signal.SIGKILL)
        text = os.read(reader, LONGEST).decode(errors="replace") if ready else f"no answer in {PATIENCE} s"
        os.close(reader)
        _, code = os.waitpid(child, 0)
        errors.seek(0)
        return code, text or errors.read().decode(errors="replace")


def _outcome(call, megabytes):
    # The text of a refusal itself takes memory: have some ready to let go.
    reserve = bytearray(2**20)
    limit = _address_space() + int(megabytes * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # What the allocator holds for later is taken from it, so that no more than the limit is left.
    taken = []
    try:
        while True:
            taken.append(bytearray(_BLOCK))
    except MemoryError:
        del taken[-1 - int(megabytes * 2**20 / _BLOCK) :]
    try:
        call()
    except MemoryError:
        return "refused"
    except RuntimeError as error:
        del reserve
        return "refused" if str(error).startswith("could not start") else f"{raised(error)}: {error}"
    except BaseException as error:
        del reserve
        return f"{raised(error)}: {error}"
    return "answered"


def _address_space():
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


CALLS = {
    "brute": lambda X, k, options: shopca_rs.k_neighbors(X, k, algorithm="brute", **options),
    "kd_tree": lambda X, k, options: shopca_rs.k_neighbors(X[:, :32], k, algorithm="kd_tree", **options),
    "queries": lambda X, k, options: shopca_rs.k_neighbors(X, k, queries=X[::3] + 0.5, **options),
    "mean_shape_operator": lambda X, k, options: shopca_rs.mean_shape_operator(X, k, **options),
    "lapack": lambda X, k, options: shopca_rs.mean_shape_operator(
        X[:300], min(k, 19), degenerate="lapack", **options
    ),
    "sample": lambda X, k, options: shopca_rs.mean_shape_operator(
        X, k, sample=len(X) // 2, return_error=True, **options
    ),
    "given neighbours": lambda X, k, options: shopca_rs.mean_shape_operator(
        X, k, neighbors=np.add.outer(np.arange(len(X)), np.arange(k)) % len(X), **options
    ),
    "shape_sum": lambda X, k, options: shopca_rs.shape_sum(X, k, points=np.arange(len(X) // 2), **options),
    "local_shape_operators": lambda X, k, options: shopca_rs.local_shape_operators(
        X[:2000], min(k, 19), **options
    ),
    "curvatures": lambda X, k, options: shopca_rs.operator_curvatures(X[:2000], min(k, 19), **options),
    "trustworthiness": lambda X, k, options: shopca_rs.trustworthiness(X, X[:, :1], min(k, 9), **options),
    "quality": lambda X, k, options: shopca_rs.quality(X[:2000], X[:2000, :1], min(k, 9), **options),
    "fit_transform": lambda X, k, options: SHOPCA(1, n_neighbors=k, **options).fit_transform(X),
}
