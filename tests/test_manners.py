import concurrent.futures
import signal
import time

import nasty
import pytest
import shopca_rs

# Each of these keeps two cores busy for a good while, in another part of the package.
LONG_CALLS = """
import os, sys, threading, time
from functools import partial
import numpy as np
import shopca_rs

rng = np.random.default_rng(0)

def brute():
    return partial(shopca_rs.mean_shape_operator, rng.normal(size=(200_000, 32)), 10, algorithm="brute")

def kd_tree():
    return partial(shopca_rs.k_neighbors, rng.normal(size=(200_000, 10)), 10, algorithm="kd_tree")

def trees_in_many_columns():
    return partial(shopca_rs.k_neighbors, rng.normal(size=(200_000, 32)), 10, algorithm="kd_tree")

def many_columns():
    neighbors = rng.integers(0, 6_000, size=(6_000, 24))
    return partial(shopca_rs.mean_shape_operator, rng.normal(size=(6_000, 2_000)), 24, neighbors=neighbors)

def frames(function=shopca_rs.mean_shape_operator):
    neighbors = rng.integers(0, 20_000, size=(20_000, 120))
    return partial(function, rng.normal(size=(20_000, 100)), 120, neighbors=neighbors)

def sample():
    return partial(frames(), sample=19_000)

def spectra():
    return frames(shopca_rs.operator_curvatures)

def surface():
    X = rng.normal(size=(200_000, 3))
    return partial(shopca_rs.curvatures, X / np.linalg.norm(X, axis=1, keepdims=True) + X / 100)

def counted_ranks():
    X = rng.normal(size=(200_000, 32))
    return partial(shopca_rs.trustworthiness, X, X[:, :2])

def sorted_ranks():
    X = rng.normal(size=(60_000, 32))
    return partial(shopca_rs.quality, X, X[:, :2])

def still_right():
    X = np.random.default_rng(1).normal(size=(300, 4))
    algorithms = ("kd_tree", "brute")
    a, b = (shopca_rs.mean_shape_operator(X, 7, algorithm=algorithm, n_jobs=2) for algorithm in algorithms)
    return a.tobytes() == b.tobytes() and a.trace() < 0

long_call = globals()[sys.argv[1]]()
"""
CALLS = [
    "brute",
    "kd_tree",
    "trees_in_many_columns",
    "many_columns",
    "frames",
    "sample",
    "spectra",
    "surface",
    "counted_ranks",
    "sorted_ranks",
]
every_long_call = pytest.mark.parametrize("call", CALLS)


def wait_for(process, line):
    for read in process.stdout:
        if read.strip() == line:
            return
    pytest.fail(process.stderr.read())


@every_long_call
@pytest.mark.parametrize("delay", [0.05, 0.6], ids=["early", "late"])
def test_ctrl_c_stops_a_long_call(call, delay, start_python):
    code = """
try:
    # Again and again: on a busy machine the first call may end before the signal is sent.
    while True:
        long_call(progress=lambda done, total: total and print("running", flush=True))
except KeyboardInterrupt:
    returned = time.monotonic()
    # The signal may have cut the line of the progress callback short, so this one starts on its own.
    print("", returned, still_right(), sep="\\n")
"""
    process = start_python(LONG_CALLS + code, call)
    wait_for(process, "running")
    time.sleep(delay)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    returned, right = out.splitlines()[-2:]
    seconds = float(returned) - sent
    print(f"{call} returned {seconds:.3f} s after Ctrl-C; the contract says 0.5")
    assert seconds < 5
    assert right == "True"


@every_long_call
def test_other_python_threads_run_during_a_call(call, run_python):
    # The ticking thread itself ends the call: were the GIL held, the call would run to its end first.
    code = """
ticks = 0

def tick():
    global ticks
    for _ in range(25):
        time.sleep(0.01)
        ticks += 1
    os.kill(os.getpid(), 2)

threading.Thread(target=tick).start()
try:
    long_call()
    print("finished")
except KeyboardInterrupt:
    print(ticks)
"""
    assert run_python(LONG_CALLS + code, call).split() == ["25"]


FORK = """
import os, threading
import test_determinism as t

def same_in_child(expected):
    child = os.fork()
    if child == 0:
        os._exit(0 if [t.digest(size, n_jobs=2) for size in sizes] == expected else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

sizes = ["few_columns", "k_below_d"]
expected = [t.digest(size, n_jobs=2) for size in sizes]
"""


def test_a_call_after_a_fork_gives_the_same_bits(run_python):
    code = """
print(same_in_child(expected), same_in_child(expected))
print([t.digest(size) for size in sizes] == expected)
"""
    assert run_python(FORK + code).split() == ["True"] * 3


def test_a_fork_in_the_middle_of_a_call_leaves_both_processes_working(run_python):
    code = """
running, answers = threading.Event(), []
X, k = t.data("many_columns")
call = threading.Thread(
    target=lambda: answers.append(t.mean_shape_operator(X, k, progress=lambda *_: running.set()).tobytes())
)
call.start()
running.wait()
print(same_in_child(expected))
call.join()
print(answers == [t.mean_shape_operator(X, k).tobytes()])
"""
    assert run_python(FORK + code).split() == ["True"] * 2


def test_calls_from_many_python_threads_do_not_disturb_each_other():
    tasks = [
        (maker(), k, n_jobs)
        for maker in (nasty.continuous, nasty.grid, nasty.wide, nasty.two_copies)
        for k, n_jobs in [(3, 1), (6, 2), (9, 3), (12, 8), (20, None)]
    ]
    expected = [shopca_rs.mean_shape_operator(X, k).tobytes() for X, k, _ in tasks]

    def call(task):
        X, k, n_jobs = task
        return shopca_rs.mean_shape_operator(X, k, n_jobs=n_jobs).tobytes()

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for _ in range(3):
            assert list(pool.map(call, tasks)) == expected


def test_a_call_has_its_own_threads_and_takes_them_away(run_python):
    # One more thread watches for signals, and one may build the tree.
    code = """
def threads():
    return len(os.listdir("/proc/self/task"))

class EnoughSeen(Exception):
    pass

def count(done, total):
    counts.append(threads())
    if done:
        raise EnoughSeen

before = threads()
for n_jobs in (1, 5, 2):
    counts = []
    try:
        long_call(n_jobs=n_jobs, progress=count)
    except EnoughSeen:
        extra = max(counts) - before
        print(n_jobs <= extra <= n_jobs + 2 or extra)
    until = time.monotonic() + 20
    while threads() > before and time.monotonic() < until:
        time.sleep(0.01)
    print(threads() == before or threads() - before)
"""
    for call in ("frames", "brute"):
        assert run_python(LONG_CALLS + code, call).split() == ["True"] * 6


def test_the_extension_brings_no_threaded_blas(run_python):
    code = """
import numpy as np
from threadpoolctl import threadpool_info

def libraries():
    mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
    pools = {pool["filepath"] for pool in threadpool_info()}
    return pools, {path for path in mapped if any(word in path for word in ("blas", "lapack", "omp", "mkl"))}

np.linalg.eigh(np.eye(3))
before = libraries()
import shopca_rs
X = np.random.default_rng(0).normal(size=(500, 20))
for k in (5, 30):
    shopca_rs.mean_shape_operator(X, k)
print(before == libraries())
print(b"openblas" in open(shopca_rs._core.__file__, "rb").read().lower())
"""
    assert run_python(code).split() == ["True", "False"]
