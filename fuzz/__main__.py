"""The command line of the fuzzers."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections import defaultdict

from .session import Tally, run
from .worker import KINDS

DESCRIPTION = """\
Call the package with what nobody should give it and report every answer nobody should get: wrong
numbers, NaN, foreign exceptions, partial files, aborts. Exit code 1 if there were any.
"""


def main() -> int:
    """Run the fuzzers and print what they found."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--which", choices=KINDS, nargs="+", default=list(KINDS), help="default: all")
    parser.add_argument(
        "--seconds", type=float, default=60, help="for all kinds together (default: %(default)s)"
    )
    parser.add_argument("--cases", type=int, help="cases of each kind, instead of a time")
    parser.add_argument("--seed", type=int, help="default: a new one")
    parser.add_argument("--case", type=int, metavar="N", help="replay one case; needs --which and --seed")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)"
    )
    parser.add_argument(
        "--most", type=int, default=30, help="findings shown of each kind (default: %(default)s)"
    )
    args = parser.parse_args()
    if args.case is not None and (len(args.which) != 1 or args.seed is None):
        parser.error("--case needs one --which and a --seed")
    seed = secrets.randbits(32) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    found = 0
    for kind in args.which:
        if args.case is not None:
            tally = run(kind, seed, cases=1, first=args.case)
        elif args.cases is not None:
            tally = run(kind, seed, cases=args.cases, jobs=args.jobs)
        else:
            tally = run(kind, seed, seconds=args.seconds / len(args.which), jobs=args.jobs)
        show(tally, args.most)
        found += len(tally.findings)
        if tally.interrupted:
            break
    return 1 if found else 0


def show(tally: Tally, most: int) -> None:
    """Print the counts of one kind, then its findings, each with its replay."""
    rate = tally.cases / max(tally.seconds, 1e-9)
    print(f"\n{tally.kind}: {tally.cases} cases, {tally.calls} calls, {rate:.0f} cases/s")
    table: dict[str, dict[str, int]] = defaultdict(dict)
    for (what, outcome), count in sorted(tally.outcomes.items()):
        table[what][outcome] = count
    for what, outcomes in table.items():
        print(f"  {what:<40} " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
    ranked = sorted(tally.findings.items(), key=lambda item: -len(item[1]))
    for signature, cases in ranked[:most]:
        number, detail = min(cases, key=lambda case: len(case[1]))
        print(f"  FOUND {len(cases)}× {signature}")
        print(f"    {detail}")
        print(f"    python -m fuzz --which {tally.kind} --seed {tally.seed} --case {number}")
    if len(ranked) > most:
        print(f"  … and {len(ranked) - most} more kinds of findings")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
