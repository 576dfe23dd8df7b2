import sys

import pytest

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads peaks from /proc")

# Measures what a call adds to the resident memory at its peak, in bytes.
MEASURE = """
import os
import numpy as np
import shopca_rs

THREADS = 2
rng = np.random.default_rng(0)

def status(field):
    line = next(line for line in open("/proc/self/status") if line.startswith(field))
    return int(line.split()[1]) * 1024

def extra(function, *arguments, **options):
    shopca_rs.mean_shape_operator(rng.normal(size=(600, 5)), 3, n_jobs=THREADS)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak so far
    before = status("VmRSS")
    function(*arguments, n_jobs=THREADS, **options)
    return status("VmHWM") - before
"""
FIXED = 24 * 2**20


def bound(n, d, k, threads=2):
    """The contract's O(n·k + n·d + threads·d²), with its constant: two doubles for each."""
    return 2 * 8 * (n * k + n * d + threads * d * d) + FIXED


def measured(run_python, code):
    return int(run_python(MEASURE + code))


@linux_only
@pytest.mark.parametrize("function", ["mean_shape_operator", "operator_curvatures"])
def test_many_points_take_memory_for_their_neighbours_and_columns_only(function, run_python):
    n, d, k = 200_000, 16, 10
    code = f"""
X = rng.normal(size=({n}, {d}))
neighbors = rng.integers(0, {n}, size=({n}, {k}))
print(extra(shopca_rs.{function}, X, {k}, neighbors=neighbors))
"""
    assert measured(run_python, code) < bound(n, d, k) < 8 * n * d * d


@linux_only
def test_many_columns_take_memory_for_a_few_square_matrices_only(run_python):
    n, d, k = 5000, 400, 11
    code = f"print(extra(shopca_rs.mean_shape_operator, rng.normal(size=({n}, {d})), {k}))"
    assert measured(run_python, code) < bound(n, d, k) < 8 * n * d * d / 50


@linux_only
def test_a_sample_takes_memory_for_its_own_neighbours_only(run_python):
    n, d, k, m = 100_000, 3, 200, 500
    code = f"print(extra(shopca_rs.mean_shape_operator, rng.normal(size=({n}, {d})), {k}, sample={m}))"
    assert measured(run_python, code) < bound(n, d, 0) + bound(m, d, k) < 8 * n * k


@linux_only
def test_a_sample_of_given_neighbours_copies_its_own_only(run_python):
    n, d, k, m = 100_000, 3, 200, 500
    code = f"""
X, neighbors = rng.normal(size=({n}, {d})), rng.integers(0, {n}, size=({n}, {k}))
print(extra(shopca_rs.mean_shape_operator, X, {k}, neighbors=neighbors, sample={m}))
"""
    assert measured(run_python, code) < bound(n, d, 0) + bound(m, d, k) < 4 * n * k


@linux_only
def test_a_sample_in_many_columns_takes_memory_for_a_few_square_matrices_only(run_python):
    n, d, k, m = 3000, 700, 8, 1000
    code = f"print(extra(shopca_rs.mean_shape_operator, rng.normal(size=({n}, {d})), {k}, sample={m}))"
    # Four more for the sum, the group's, the deviations and the error; far from one for each group.
    assert measured(run_python, code) < bound(n, d, k) + 4 * 8 * d * d < 32 * 8 * d * d


@linux_only
def test_a_tree_over_many_points_takes_memory_in_proportion(run_python):
    n, d, k = 200_000, 3, 10
    code = f'print(extra(shopca_rs.k_neighbors, rng.normal(size=({n}, {d})), {k}, algorithm="kd_tree"))'
    assert measured(run_python, code) < bound(n, d, k)


@linux_only
def test_brute_force_over_many_points_takes_memory_in_proportion(run_python):
    n, d, k = 200_000, 16, 10
    # All memory is taken at the start, so the search may be left after a twentieth of it.
    code = f"""
class EnoughSeen(Exception):
    pass

def leave(done, total):
    if done > {n} // 20:
        raise EnoughSeen

def search(*arguments, **options):
    try:
        shopca_rs.k_neighbors(*arguments, **options)
    except EnoughSeen:
        pass

print(extra(search, rng.normal(size=({n}, {d})), {k}, algorithm="brute", progress=leave))
"""
    assert measured(run_python, code) < bound(n, d, k)


@linux_only
def test_ranks_are_counted_in_memory_for_neighbours_and_columns_only(run_python):
    n, d, k = 20_000, 16, 10
    code = f"""
X = rng.normal(size=({n}, {d}))
print(extra(shopca_rs.trustworthiness, X, X[:, :2].copy(), {k}))
"""
    assert measured(run_python, code) < bound(n, d, k) < n * n / 8


@linux_only
def test_all_ranks_of_a_few_rows_take_memory_in_proportion(run_python):
    n, d, m = 100_000, 8, 100
    code = f"""
X = rng.normal(size=({n}, {d}))
print(extra(shopca_rs.quality, X, X[:, :2].copy(), sample={m}))
"""
    # For each row a few numbers in each thread, and the curves.
    assert measured(run_python, code) < bound(n, d + 2, 0) + 2 * 160 * n + 8 * 8 * n < 8 * n * m * 2


# A limit on the address space makes the refusal certain whatever the machine promises its processes.
LIMITED = """
import resource
import numpy as np
import shopca_rs

def attempt(megabytes, function, *arguments, **options):
    size = next(line for line in open("/proc/self/status") if line.startswith("VmSize"))
    limit = int(size.split()[1]) * 1024 + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        function(*arguments, n_jobs=2, **options)
    except MemoryError as error:
        print(error)

rng = np.random.default_rng(0)
"""


@linux_only
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_neighbours_beyond_memory_are_refused_in_a_sentence(algorithm, run_python):
    code = f"""
X = rng.normal(size=(50_000, 3))
attempt(2048, shopca_rs.k_neighbors, X, 49_999, algorithm="{algorithm}")
"""
    assert "out of memory: 9999800000 bytes" in run_python(LIMITED + code)


@linux_only
def test_operators_beyond_memory_are_refused_in_a_sentence(run_python):
    code = """
X, neighbors = rng.normal(size=(20_000, 300)), np.zeros((20_000, 3), dtype=int)
attempt(2048, shopca_rs.local_shape_operators, X, 3, neighbors=neighbors)
"""
    out = run_python(LIMITED + code)
    assert f"out of memory: {20_000 * 300 * 300 * 8} bytes" in out
    assert "Use a smaller k, fewer columns, fewer points or a smaller n_jobs." in out


@linux_only
def test_memory_that_runs_out_after_the_search_is_refused_in_a_sentence(run_python):
    # For 36 million pairs the search takes 412 MB, and the answer another 275 MB.
    code = 'attempt(412 + 225, shopca_rs.k_neighbors, rng.normal(size=(6_000, 3)), 5_999, algorithm="brute")'
    assert "out of memory" in run_python(LIMITED + code)


# Every route, each in a child of its own with a little more memory than the last one.
SHORT_OF_MEMORY = """
import os, resource, sys
import numpy as np
import shopca_rs

rng = np.random.default_rng(0)
few, some, wide, widest = (rng.normal(size=s) for s in [(30_000, 3), (3_000, 16), (1_000, 200), (120, 900)])
calls = {
    "trees": lambda jobs: shopca_rs.k_neighbors(few, 30, n_jobs=jobs),
    "trees in many columns": lambda jobs: shopca_rs.k_neighbors(some, 9, algorithm="kd_tree", n_jobs=jobs),
    "brute force": lambda jobs: shopca_rs.k_neighbors(some, 300, algorithm="brute", n_jobs=jobs),
    "few columns": lambda jobs: shopca_rs.mean_shape_operator(some, 20, n_jobs=jobs),
    "many columns": lambda jobs: shopca_rs.mean_shape_operator(wide, 11, n_jobs=jobs),
    "large frames": lambda jobs: shopca_rs.mean_shape_operator(widest, 60, n_jobs=jobs),
    "sample": lambda jobs: shopca_rs.mean_shape_operator(wide, 11, sample=300, n_jobs=jobs),
    "operators": lambda jobs: shopca_rs.local_shape_operators(wide[:500], 11, n_jobs=jobs),
    "curvatures": lambda jobs: shopca_rs.operator_curvatures(wide[:70], 50, n_jobs=jobs),
    "surface": lambda jobs: shopca_rs.curvatures(few, 40, intrinsic_dim=2, n_jobs=jobs),
    "counted ranks": lambda jobs: shopca_rs.trustworthiness(some, some[:, :2], n_jobs=jobs),
    "sorted ranks": lambda jobs: shopca_rs.quality(some[:900], some[:900, :2], n_jobs=jobs),
    "lapack": lambda jobs: shopca_rs.mean_shape_operator(wide[:12], 8, degenerate="lapack", n_jobs=jobs),
}

def attempt(call, megabytes, jobs):
    child = os.fork()
    if child == 0:
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)
        try:
            calls[call](jobs)
        except MemoryError:
            os._exit(1)
        except RuntimeError as error:
            os._exit(2 if "could not start" in str(error) else 3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

outcomes = {
    (call, megabytes, jobs): attempt(call, megabytes, jobs)
    for call in calls for megabytes in (1, 30, 44, 48, 60, 120, 400) for jobs in (1, 4)
}
for what, outcome in outcomes.items():
    if outcome not in (0, 1, 2):
        print(what, outcome)
print(set(outcomes.values()) >= {0, 1})
"""


@linux_only
def test_a_call_that_is_short_of_memory_ends_in_an_exception(run_python):
    assert run_python(SHORT_OF_MEMORY).split() == ["True"]


@linux_only
def test_threads_that_cannot_be_started_are_named_in_a_sentence(run_python):
    # Limits do not bind root, and other users may not read all modules: the first call imports them.
    code = """
import os
X = rng.normal(size=(500, 4))
shopca_rs.mean_shape_operator(X, 5, n_jobs=1, algorithm="kd_tree")
if os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
for n_jobs in (1, 3):
    try:
        shopca_rs.mean_shape_operator(X, 5, n_jobs=n_jobs, algorithm="kd_tree")
    except RuntimeError as error:
        print(error)
"""
    out = run_python(LIMITED + code)
    assert "could not start 1 thread" in out
    assert "could not start 3 threads" in out
    assert "Use a smaller n_jobs" in out
