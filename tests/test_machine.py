"""Limits of containers, of both versions of control groups, in made-up trees of files."""

from __future__ import annotations

import os
import resource
import sys

import pytest
from shopca_rs import machine
from shopca_rs.arguments import as_threads

GIB = 1 << 30


@pytest.fixture(autouse=True)
def host(monkeypatch):
    """A machine with 64 processors and 256 GiB."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 256 * GIB // 4096}
    monkeypatch.setattr(os, "sysconf", lambda name: pages[name])
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)


VERSION_2 = "30 23 0:26 {mounted} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
VERSION_1 = (
    "31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:29 {mounted} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 {mounted} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
)


def tree(folder, mounts, groups, files, mounted="/"):
    """A root directory with what the kernel shows of control groups."""
    files = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    files |= {"proc/self/mountinfo": mounts.format(mounted=mounted), "proc/self/cgroup": groups}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    return folder


def test_without_control_groups_it_is_the_machine_s(tmp_path):
    assert machine.cores(tmp_path) == 64
    assert machine.memory(tmp_path) == 256 * GIB


def test_a_container_of_version_2_sees_its_own_limits_at_the_top(tmp_path):
    root = tree(tmp_path, VERSION_2, "0::/", {"cpu.max": "250000 100000", "memory.max": 3 * GIB})
    assert machine.cores(root) == 3
    assert machine.memory(root) == 3 * GIB


def test_a_container_of_version_1_sees_its_own_limits_at_the_top_whatever_its_path_outside(tmp_path):
    files = {
        "cpu,cpuacct/cpu.cfs_quota_us": 50_000,
        "cpu,cpuacct/cpu.cfs_period_us": 100_000,
        "memory/memory.limit_in_bytes": 2 * GIB,
    }
    groups = "12:cpu,cpuacct:/docker/af01\n4:memory:/docker/af01\n0::/"
    root = tree(tmp_path, VERSION_1, groups, files, mounted="/docker/af01")
    assert machine.cores(root) == 1
    assert machine.memory(root) == 2 * GIB
    other = tree(tmp_path / "other", VERSION_1, groups, files, mounted="/system.slice")
    assert (machine.cores(other), machine.memory(other)) == (1, 2 * GIB)


@pytest.mark.parametrize("level", ["", "a.slice/", "a.slice/b.scope/"], ids=["top", "middle", "own"])
def test_the_smallest_limit_on_the_way_up_counts(tmp_path, level):
    every = ["", "a.slice/", "a.slice/b.scope/"]
    files = {f"{where}cpu.max": "max 100000" for where in every} | {
        f"{where}memory.max": "max" for where in every
    }
    files |= {f"{level}cpu.max": "400000 100000", f"{level}memory.max": 5 * GIB}
    root = tree(tmp_path, VERSION_2, "0::/a.slice/b.scope", files)
    assert machine.cores(root) == 4
    assert machine.memory(root) == 5 * GIB


def test_a_group_that_is_not_ours_does_not_count(tmp_path):
    files = {"ours/memory.max": 9 * GIB, "theirs/memory.max": GIB, "ours/inner/memory.max": GIB}
    assert machine.memory(tree(tmp_path, VERSION_2, "0::/ours", files)) == 9 * GIB


def test_memory_that_is_only_slowed_down_beyond_a_mark_counts_up_to_it(tmp_path):
    files = {"memory.max": 8 * GIB, "memory.high": 6 * GIB}
    assert machine.memory(tree(tmp_path, VERSION_2, "0::/", files)) == 6 * GIB


def test_both_versions_side_by_side_count_both(tmp_path):
    groups = "4:memory:/job\n3:cpu,cpuacct:/\n0::/unified"
    mounts = f"{VERSION_1}\n{VERSION_2.replace('/sys/fs/cgroup', '/sys/fs/cgroup/unified')}"
    files = {"memory/job/memory.limit_in_bytes": 7 * GIB, "unified/unified/cpu.max": "200000 100000"}
    root = tree(tmp_path, mounts, groups, files)
    assert (machine.cores(root), machine.memory(root)) == (2, 7 * GIB)


@pytest.mark.parametrize(
    ("quota", "count"),
    [
        ("10000 100000", 1),
        ("100000 100000", 1),
        ("100001 100000", 2),
        ("max 100000", 64),
        ("9900000 100000", 64),
    ],
)
def test_a_quota_is_rounded_up_and_never_more_than_the_affinity(tmp_path, quota, count):
    assert machine.cores(tree(tmp_path, VERSION_2, "0::/", {"cpu.max": quota})) == count


@pytest.mark.parametrize(
    "files",
    [
        {"cpu.max": "", "memory.max": ""},
        {"cpu.max": "x y", "memory.max": "many"},
        {"cpu.max": "1 0", "memory.max": "max"},
        {
            "cpu.cfs_quota_us": "-1",
            "cpu.cfs_period_us": "100000",
            "memory.limit_in_bytes": "9223372036854771712",
        },
    ],
    ids=["empty", "text", "a period of zero", "none, in the words of version 1"],
)
def test_what_is_no_limit_counts_as_none(tmp_path, files):
    root = tree(tmp_path, VERSION_2, "0::/", files)
    assert (machine.cores(root), machine.memory(root)) == (64, 256 * GIB)


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 - cgroup2", "0::", "0::/../../elsewhere"])
def test_what_the_kernel_never_wrote_is_no_error(tmp_path, text):
    root = tree(tmp_path, VERSION_2, text, {"memory.max": GIB})
    assert machine.memory(root) in (GIB, 256 * GIB)
    (root / "proc/self/mountinfo").write_text(text)
    machine._files.cache_clear()
    assert machine.memory(root) == 256 * GIB


def test_a_mount_point_with_a_space_is_found(tmp_path):
    mounts = VERSION_2.replace("/sys/fs/cgroup", "/sys/fs/cgroup/my\\040groups")
    assert machine.memory(tree(tmp_path, mounts, "0::/", {"my groups/memory.max": GIB})) == GIB


@pytest.mark.parametrize("which", [resource.RLIMIT_AS, resource.RLIMIT_DATA], ids=["AS", "DATA"])
def test_a_limit_of_the_process_itself_counts(tmp_path, monkeypatch, which):
    monkeypatch.setattr(resource, "getrlimit", lambda asked: (4 * GIB if asked == which else -1, -1))
    assert machine.memory(tmp_path) == 4 * GIB


def test_a_limit_that_changes_is_seen_at_the_next_call(tmp_path):
    root = tree(tmp_path, VERSION_2, "0::/", {"cpu.max": "100000 100000"})
    assert machine.cores(root) == 1
    (root / "sys/fs/cgroup/cpu.max").write_text("300000 100000")
    assert machine.cores(root) == 3


def test_this_machine_has_processors_and_memory(monkeypatch):
    monkeypatch.undo()
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    assert machine.memory() > 1 << 20


def test_threads_are_counted_from_what_the_container_may_use(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: 3)
    assert [as_threads(n_jobs) for n_jobs in (None, -1, -2, -9, 5)] == [3, 3, 2, 1, 5]


def test_memory_has_a_number_on_systems_that_do_not_tell(monkeypatch, tmp_path):
    monkeypatch.delattr("os.sysconf")
    assert 0 < machine.memory(tmp_path) <= sys.maxsize
