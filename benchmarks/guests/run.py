"""Runs other people's test suites plain and under the recorder, and compares what becomes of each test.

    python benchmarks/guests/run.py [NAMES] [--ways plain,off,ops,strict] [--fresh] [--write]

Each suite is cloned at its commit (suites.toml) into .guests/, and run in each way in a process of its own,
in a checkout with nothing else in it. Where a test parts, the suite is run plain once more (again), to tell
what differs by itself. What came out is kept in .guests/results/, and a way with a result is not run again
without --fresh. --write makes the tables of docs/guests.md from all that is kept.
Exits with 1 when a test parts that is not explained.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from guests.checkout import fresh
from guests.judging import Judged, judge
from guests.page import write
from guests.suite import Suite, load
from guests.ways import WAYS, read, run

ROOT = Path(__file__).resolve().parent.parent.parent
GUESTS = ROOT / ".guests"
RESULTS = GUESTS / "results"


def main() -> int:
    """Run what has no result yet, say what parted, and write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", help="suites; default all")
    options.add_argument("--ways", default="plain,off,ops,strict", help="of " + ",".join(WAYS))
    options.add_argument("--fresh", action="store_true", help="run again what has a result")
    options.add_argument("--write", action="store_true", help="write the tables of docs/guests.md")
    chosen = options.parse_args()
    ways = chosen.ways.split(",")
    unknown = [way for way in ways if way not in WAYS]
    if unknown:
        options.error(f"no way {', '.join(unknown)}; there are: {', '.join(WAYS)}")
    suites = load(chosen.names)
    for suite in suites:
        for way in ways:
            if chosen.fresh or read(suite, way, RESULTS) is None:
                _run(suite, way)
        if _judged(suite).unexplained and read(suite, "again", RESULTS) is None:
            _run(suite, "again")
    judged = [_judged(suite) for suite in suites]
    for each in judged:
        print(each.text())
    if chosen.write:
        write(ROOT / "docs" / "guests.md", [_judged(suite) for suite in load()])
    return int(any(each.unexplained for each in judged))


def _judged(suite: Suite) -> Judged:
    return judge(suite, {way: read(suite, way, RESULTS) for way in WAYS})


def _run(suite: Suite, way: str) -> None:
    ran = run(suite, way, fresh(suite, GUESTS), RESULTS)
    tests = f"{len(ran.outcomes)} tests, {ran.cpu_s:.0f} s of CPU, exit code {ran.exit_code}"
    print(f"{suite.name} {way}: {tests}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
