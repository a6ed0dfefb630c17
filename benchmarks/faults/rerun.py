"""Is each script's run to be had again? Recorded as it is, with nothing controlled, then `samerun rerun`.

    python benchmarks/faults/rerun.py [NAMES] [--sample 20]

Scripts that race are left out: no recorded value decides which thread, worker or kernel comes first.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scoring.case import Case, load
from scoring.copying import command, copy, environment

SAMERUN = [sys.executable, "-m", "samerun.cli"]
RACES = {"thread-scheduling", "worker-arrival", "nondeterministic-kernels"}


def races(case: Case) -> bool:
    """Whether a planted fault of it is a race."""
    return any(RACES.intersection(fault.sources) for fault in case.faults)


def rerun(case: Case) -> dict[str, Any]:
    """What `samerun rerun --json` says of a run of the script, in a folder of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / case.name
        copy(case, folder)

        def ask(*words: str) -> None:
            subprocess.run([*SAMERUN, *words], cwd=folder, env=environment(case), capture_output=True)

        ask("run", "--mode", "off", "--", *command(case))
        ask("rerun", "last", "--json", "rerun.json")
        try:
            return json.loads((folder / "rerun.json").read_text())
        except (OSError, ValueError):
            return {"verdict": "none", "reason": "no answer"}


def explain(result: dict[str, Any]) -> str:
    """Why it is not that run again, in ids."""
    found = [item["source"] for key in ("changed", "parted", "unreplayed") for item in result.get(key, ())]
    return ", ".join(dict.fromkeys(found)) or result.get("reason") or "nothing is named"


def main() -> None:
    """Run them, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases, or parts of their names; default: all")
    parser.add_argument("--sample", type=int, help="so many of them, by chance (seed 1)")
    options = parser.parse_args()
    cases = [case for case in load(options.names) if not case.missing and not races(case)]
    if options.sample is not None:
        cases = random.Random(1).sample(cases, min(options.sample, len(cases)))
    same = 0
    for case in cases:
        result = rerun(case)
        same += result["verdict"] == "same"
        why = "" if result["verdict"] == "same" else f": {explain(result)}"
        print(f"{case.name:<28} {result['verdict']}{why}", flush=True)
    print(f"{same} of {len(cases)} are that run again")


if __name__ == "__main__":
    main()
