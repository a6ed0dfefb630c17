"""Scores `samerun diagnose` on the fault corpus: the reason, the place, the patch and the price.

    python benchmarks/faults/score.py [NAMES] [--verb check] [--rounds 3] [--baselines] [--json FILE]

Each script is copied, without the comments that give its fault away, to a folder of its own and diagnosed
there. The clean ones are diagnosed ROUNDS times. Every patch offered is applied to a fresh copy, which
`samerun check -n 3` must then call the same. Exits with 1 when a goal of the issue is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from scoring.answer import ask_for_causes
from scoring.baselines import Baseline, baselines, show_baselines
from scoring.case import Case, load
from scoring.copying import copy
from scoring.judging import Score, judge
from scoring.patching import try_patch
from scoring.table import show
from scoring.totals import goals
from scoring.witnessed import run

WIDTH = 190  # columns of the table where there is no terminal


def score(verb: str, case: Case, number: int) -> Score:
    """One round of one case."""
    with tempfile.TemporaryDirectory(prefix="fault") as temporary:
        place = Path(temporary)
        copy(case, place / "plain")
        plain = [_seconds(case, place / "plain") for _ in range(2)]
        lines = copy(case, place / "work")
        scored = judge(case, ask_for_causes(verb, case, place / "work"), lines)
        plain += [
            _seconds(case, place / "plain") for _ in range(2)
        ]  # machines are faster at one time than another
        patched = None
        if scored.answer.patch and number == 0:
            patched = try_patch(case, scored.answer.patch, place / "patched")
        return dataclasses.replace(scored, plain=statistics.median(plain), patched=patched)


def _seconds(case: Case, folder: Path, tries: int = 3) -> float:
    """How long a plain run takes; gloo's threads now and then abort a process that has done its work."""
    try:
        return run(case, folder, witness=False).seconds
    except RuntimeError:
        if tries == 1:
            raise
        return _seconds(case, folder, tries - 1)


def main() -> int:
    """Print the table; 1 when a goal is missed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", help="cases, or parts of their names; default all")
    options.add_argument("--rounds", type=int, default=3, help="how often the clean ones are diagnosed")
    options.add_argument(
        "--jobs", type=int, default=1, help="cases at a time; the times are right for 1 alone"
    )
    options.add_argument(
        "--baselines", action="store_true", help="torch's DebugMode and the losses beside it"
    )
    options.add_argument("--verb", choices=("diagnose", "check"), default="diagnose", help="who is asked")
    options.add_argument("--json", type=Path, metavar="FILE")
    chosen = options.parse_args()
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    cases = load(chosen.names)
    for case in (case for case in cases if case.missing):
        console.print(f"left out {case.name}: this machine has no {', '.join(case.missing)}")
    cases = [case for case in cases if not case.missing]
    rounds = [(case, number) for case in cases for number in range(chosen.rounds if case.clean else 1)]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        scores = []
        for made in pool.map(lambda item: score(chosen.verb, *item), rounds):
            scores.append(made)
            if chosen.json:  # after each, so that a run that is broken off is not lost
                chosen.json.write_text(json.dumps(_values(scores, []), indent=1))
            print(f"{len(scores)}/{len(rounds)} {made.case.name}: {_brief(made)}", file=sys.stderr)
        compared = list(pool.map(baselines, cases)) if chosen.baselines else []
    show(scores, console)
    if compared:
        show_baselines(compared, scores, console)
    if chosen.json:
        chosen.json.write_text(json.dumps(_values(scores, compared), indent=1))
    return int(not all(goal.met for goal in goals(scores)))


def _brief(score: Score) -> str:
    """What it said, for whoever waits."""
    named = ", ".join(said.source for said in score.answer.causes)
    wrong = [aspect for aspect in ("source", "line") if not score.top1.get(aspect, True)]
    return " · ".join(
        filter(None, [score.answer.verdict, named, f"wrong: {', '.join(wrong)}" if wrong else ""])
    )


def _values(scores: list[Score], compared: list[tuple[Case, list[Baseline]]]) -> dict[str, Any]:
    return {
        "cases": [
            {
                "case": score.case.name,
                "truth": [fault.source for fault in score.case.faults],
                "verdict": score.answer.verdict,
                "said": [dataclasses.asdict(said) for said in score.answer.said],
                "top1": score.top1,
                "top3": score.top3,
                "missed": score.missed,
                "invented": score.invented,
                "patch": score.answer.patch,
                "patched": score.patched,
                "units": score.units,
                "seconds": score.answer.seconds,
                "complaint": score.answer.complaint,
            }
            for score in scores
        ],
        "goals": [dataclasses.asdict(goal) for goal in goals(scores)],
        "baselines": {case.name: [dataclasses.asdict(each) for each in made] for case, made in compared},
    }


if __name__ == "__main__":
    sys.exit(main())
