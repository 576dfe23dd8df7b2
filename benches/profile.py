"""Where the time goes: samples of one thread by the function they fall into.

``python benches/profile.py 6430 36 13`` profiles the search and S̄ on a normal cloud of 6430 points in 36
columns with k = 13; ``--queries`` takes some rows only. Everything of a stage is inlined into one function,
so each sample is looked up in the debugging symbols of a build of its own. Needs Linux with ``perf`` and
``addr2line``.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target" / "profiling" / "examples" / "profile"
# Code that every stage uses says nothing about the stage.
EVERYWHERE = ("src/simd/", "src/batched/mod.rs")
# The first whose pattern is found in a place.
STAGES = {
    "filter: product and comparison": r"neighbors/filter_kernel",
    "bounding boxes, order of the rows": r"neighbors/(bounding_boxes|spatial_order)",
    "candidates: append, thin out, exact distances": r"neighbors/|kiddo",
    "eigenproblems": r"batched/(spectrum|tridiagonal)",
    "rows gathered, contrasts, matrix of the eigenproblem": r"fill_matrix|tall/frame",
    "directions": r"fill_directions|fill_weights|set_lengths",
    "operators": r"batched/",
    "sums": r"scatter/|mean\.rs|shape_sum\.rs|ordered_reduction\.rs|matrixmultiply",
    "the rest: system, input, random numbers": r"",
}


def run(*command: str | Path, **options: Any) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def load_address() -> int:
    """Return the address in the file at which the executable's code begins to be loaded, minus its offset."""
    for line in run("readelf", "-lW", BINARY).splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"] and "E" in fields[6:8]:
            return int(fields[2], 16) - int(fields[1], 16)
    raise RuntimeError(f"{BINARY} has no code to load")


def samples(data: Path, load: int) -> tuple[Counter[int], Counter[str]]:
    """Return samples by address in the executable, and those elsewhere by the name of the library."""
    events = run(
        "perf", "script", "-i", data, "--show-mmap-events", "-F", "ip,dso,event", stderr=subprocess.DEVNULL
    )
    begin = offset = 0
    own: Counter[int] = Counter()
    others: Counter[str] = Counter()
    for line in events.splitlines():
        if mapped := re.search(rf"\[(0x\w+)\(0x\w+\) @ (\w+) .*r-xp {re.escape(str(BINARY))}", line):
            begin, offset = int(mapped[1], 16), int(mapped[2], 16)
        elif sample := re.search(r"([0-9a-f]+) \((.*)\)$", line):
            if sample[2] == str(BINARY):
                own[int(sample[1], 16) - begin + offset + load] += 1
            else:
                others["the system" if sample[2].startswith("[") else Path(sample[2]).name] += 1
    return own, others


def stages(addresses: Counter[int]) -> Iterator[tuple[str, int]]:
    """Yield the place of each address: its two outermost functions of ours, or a crate."""
    lines = run(
        "addr2line", "-e", BINARY, "-f", "-C", "-i", "-a", input="\n".join(map(hex, addresses))
    ).splitlines()
    stack: list[str] = []
    crate = "elsewhere"
    address = 0

    def place() -> str:
        return " > ".join(stack[::-1][:2]) or crate

    index = 0
    while index < len(lines):
        if lines[index].startswith("0x"):
            if index:
                yield place(), addresses[address]
            address, stack, crate = int(lines[index], 16), [], "elsewhere"
            index += 1
            continue
        name, where = re.sub(r"<.*>", "", lines[index]).split("::")[-1], lines[index + 1]
        file = where.rsplit(":", 1)[0].removeprefix(f"{ROOT}/")
        if file.startswith("src/") and not file.startswith(EVERYWHERE):
            stack.append(f"{file.removeprefix('src/')} {name}")
        elif other := re.search(r"/registry/src/[^/]+/(.+?)-\d", file):
            crate = other[1]
        index += 2
    yield place(), addresses[address]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("n", "d", "k"):
        parser.add_argument(name, type=int)
    parser.add_argument("--queries", type=int, help="rows whose neighbours are searched; all by default")
    parser.add_argument("--seconds", type=int, default=8, help="how long (default: %(default)s)")
    options = parser.parse_args()
    if missing := [tool for tool in ("cargo", "perf", "readelf", "addr2line") if not shutil.which(tool)]:
        parser.error(
            f"this needs {' and '.join(missing)}: on Debian linux-perf and binutils, and a Rust toolchain"
        )
    run("cargo", "build", "--quiet", "--locked", "--profile", "profiling", "--example", "profile")
    sizes = [options.n, options.d, options.k, options.queries or options.n, options.seconds]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        run("perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", data, BINARY, *map(str, sizes))
        own, others = samples(data, load_address())
    shares: Counter[str] = Counter(others)
    for place, count in stages(own):
        shares[place] += count
    by_stage: Counter[str] = Counter(dict.fromkeys(STAGES, 0))
    for place, count in shares.items():
        by_stage[next(stage for stage, pattern in STAGES.items() if re.search(pattern, place))] += count
    for title, counts in (("Stages", by_stage.items()), ("Functions", shares.most_common(30))):
        print(title)
        for name, count in counts:
            print(f"{count / shares.total():6.1%}  {name}")


if __name__ == "__main__":
    main()
