"""Processors and memory that this process may use: the machine's, or less in a container."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def cores(root: Path = _ROOT) -> int:
    """Count the processors this process may use.

    Parameters
    ----------
    root : Path, default=Path("/")
        Where proc and sys are.

    Returns
    -------
    int
        The smallest of its affinity mask and the CPU quotas of its control groups, rounded up.
    """
    counts = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    for file in _files(root, "cpu", ("cpu.max", "cpu.cfs_quota_us")):
        # Version 2 has the quota and the period in one file, version 1 in two.
        numbers = _numbers(file)
        if file.endswith("cpu.cfs_quota_us"):
            numbers += _numbers(file.replace("quota", "period"))
        if len(numbers) == 2 and min(numbers) > 0:
            counts.append(-(-numbers[0] // numbers[1]))
    return min(counts)


def memory(root: Path = _ROOT) -> int:
    """Count the bytes this process may use.

    Parameters
    ----------
    root : Path, default=Path("/")
        Where proc and sys are.

    Returns
    -------
    int
        The smallest of the machine's memory, the limits of its control groups and those of the process.
    """
    sizes = [_physical(), *_process_limits()]
    for file in _files(root, "memory", ("memory.max", "memory.high", "memory.limit_in_bytes")):
        sizes += _numbers(file)
    return min(sizes)


def _physical() -> int:
    if not hasattr(os, "sysconf"):  # Windows: allocations that fail raise MemoryError all the same
        return sys.maxsize
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _process_limits() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # not on this system
        return
    for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            yield soft


def _numbers(file: str) -> list[int]:
    """Return the whole numbers of a file; none if it cannot be read or says "max"."""
    try:
        with open(file, encoding="ascii") as opened:
            return [int(word) for word in opened.read().split()]
    except (OSError, ValueError):
        return []


@lru_cache
def _files(root: Path, controller: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files with the limits of the process's groups and of those above: the smallest counts."""
    groups: list[Path] = []
    for mounted, place, controllers in _mounts(root):
        for own, path in _memberships(root):
            # Version 2 has one hierarchy for all controllers, and names none.
            if (not own and not controllers) or controller in {*own.split(",")} & {*controllers}:
                top = root / place.lstrip("/")
                try:
                    inner = top / PurePosixPath(path).relative_to(mounted)
                except ValueError:  # outside of what this container sees: its group is the top
                    inner = top
                groups += [inner, *(parent for parent in inner.parents if parent.is_relative_to(top))]
    files = [group / name for group in groups if ".." not in group.parts for name in names]
    return tuple(str(file) for file in files if file.is_file())


def _mounts(root: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield which group is mounted where, and the controllers of the mount; none for version 2."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(" "), (*after.split(" "), "", "", "")[:3]
        if kind in ("cgroup", "cgroup2") and len(fields) > 4:
            mounted, place = (re.sub(r"\\(\d{3})", _unescaped, field) for field in fields[3:5])
            yield mounted, place, () if kind == "cgroup2" else tuple(options.split(","))


def _memberships(root: Path) -> Iterator[tuple[str, str]]:
    """Yield controllers, separated by commas, and the path of the process's group that has them."""
    for line in _lines(root / "proc/self/cgroup"):
        _, names, path = (*line.split(":", 2), "", "")[:3]
        yield names, path


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []


def _unescaped(octal: re.Match[str]) -> str:
    return chr(int(octal[1], 8))
