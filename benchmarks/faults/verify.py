"""Shows that the truths of the corpus are true, without samerun: each script is run plainly, several times.

    python benchmarks/faults/verify.py [NAMES] [--runs 6]

A faulty script must differ in at least 9 of 10 pairs of runs (in some pair when it is tagged rare), first in
the step that its truth names, and not in what its truth says does not show it. With its faults mended by hand
it must be the same; with all but one of several mended it must differ. A clean one must be the same always.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from scoring.case import Case, Fault, load
from scoring.copying import copy, mend
from scoring.witnessed import Plain, differ, differing, first_step, run

OFTEN = 0.9
RARE_RUNS = 12


def pairs(case: Case, runs: int, mended: Sequence[Fault] = ()) -> list[tuple[Plain, Plain]]:
    """Pairs of runs of a copy with some faults taken out, each in a fresh folder where runs leave files."""
    extra: dict[str, str] = {}
    for fault in mended:
        extra |= fault.environment
    with tempfile.TemporaryDirectory() as temporary:

        def fresh(name: str) -> Path:
            folder = Path(temporary) / name
            copy(case, folder)
            for fault in mended:
                mend(folder, fault)
            return folder

        if case.leaves_files:
            folders = [fresh(str(number)) for number in range(max(1, runs // 2))]
            return [(run(case, folder, extra), run(case, folder, extra)) for folder in folders]
        folder = fresh("case")
        return list(itertools.combinations([run(case, folder, extra) for _ in range(runs)], 2))


def check(case: Case, runs: int) -> tuple[list[str], str]:
    """What is not as the truth says, and a line of what was seen."""
    wrong: list[str] = []
    made = pairs(case, RARE_RUNS if case.rare else runs)
    seconds = sorted(plain.seconds for pair in made for plain in pair)[len(made)]
    if not made[0][0].seen:
        wrong.append("the witness saw no training")
    if not made[0][0].losses:
        wrong.append("no loss is printed")
    share = sum(differ(a, b, case.aside) for a, b in made) / len(made)
    said = f"{share:4.0%} of {len(made)} pairs differ, {seconds:.1f} s"
    if case.clean:
        if share:
            wrong.append(f"it is clean, and {share:.0%} of pairs differ")
        return wrong, said
    if share < (0.01 if case.rare else OFTEN):
        wrong.append(f"only {share:.0%} of pairs differ")
    steps = sorted({step for a, b in made if (step := first_step(a, b)) is not None})
    said += f", first in step {', '.join(map(str, steps))}"
    claimed = [step for fault in case.faults for step in fault.step]
    if case.faults[0].step and not set(steps) <= set(claimed):
        wrong.append(f"the truth says step {claimed}, seen {steps}")
    seen = set().union(*(differing(a, b) for a, b in made))
    said += f" ({', '.join(sorted(seen))})"
    if seen & set(case.unseen):
        wrong.append(f"the truth says that {', '.join(case.unseen)} do not show it")
    wrong += _mended(case, runs)
    return wrong, said


def _mended(case: Case, runs: int) -> list[str]:
    """Without any fault: the same. With one fault left of several: not."""
    if not all(fault.mend or fault.environment for fault in case.faults):
        return [] if not any(fault.mendable for fault in case.faults) else ["no mend is given"]
    wrong = []
    share = [differ(a, b) for a, b in pairs(case, runs, case.faults)]
    if any(share):
        wrong.append(f"mended, {sum(share)} of {len(share)} pairs still differ")
    for left in case.faults if len(case.faults) > 1 else ():
        others = [fault for fault in case.faults if fault is not left]
        share = [differ(a, b) for a, b in pairs(case, runs, others)]
        if sum(share) < OFTEN * len(share):
            wrong.append(f"with {left.source} alone, {sum(share)} of {len(share)} pairs differ")
    return wrong


def main() -> int:
    """Print a line for each case; 1 when a truth does not hold."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*")
    options.add_argument("--runs", type=int, default=6)
    chosen = options.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    console = Console(highlight=False, soft_wrap=True)
    failed = 0
    for case in load(chosen.names):
        if case.missing:
            console.print(f"[yellow]left out[/] {case.name}: this machine has no {', '.join(case.missing)}")
            continue
        try:
            wrong, said = check(case, chosen.runs)
        except (RuntimeError, ValueError) as error:
            wrong, said = [str(error)], ""
        failed += bool(wrong)
        console.print(f"{'[red]WRONG[/]' if wrong else '[green]holds[/]'} {case.name:<24} {said}")
        for line in wrong:
            console.print(f"      {line}", markup=False)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
