"""Under control, is a training still one that the plain script could have been?

    python benchmarks/faults/faithful.py [NAMES] [--plain 10] [--jobs 1] [--json FILE]

For each script of the corpus whose faults have a control: PLAIN recorded runs with nothing controlled and two
under `samerun run`, with the sources that only a request controls. The two must be the same, and their loss
must lie where the plain ones' lie. The loss of a run is the mean of the last half of its losses.

With 10 plain runs, a further plain one lies beyond them in 2 of 11 scripts. So "where" is: no further beyond
the plain runs than these are apart, and never a number that is not finite, or a constant where the plain ones
are none. Of a script that is further away, as many controlled runs with other seeds are made as there are
plain ones: their losses must be drawn from where the plain ones are drawn from (Mann-Whitney, p > 0.01).
Exits with 1 when a script fails.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from scipy import stats
from scoring.case import Case, load
from scoring.copying import command, copy, environment

from samerun.experiments.check.diff import diff
from samerun.runs.store import Run, Store
from samerun.sources.catalogue import find_sources

PROBABLE = 0.01
LEAST = 1e-4  # of the loss: plain runs that are closer than this differ in low-order bits alone


@dataclass(frozen=True)
class Row:
    """What one script gave."""

    name: str
    controls: list[str]  # asked for beside mode strict
    plain: list[float]
    controlled: list[float]
    moves: bool  # the losses of the controlled runs do, or those of the plain ones do not
    verdict: str
    seeds: list[float]  # under control with other seeds; [] where that was not needed

    @property
    def wrong(self) -> str:
        """What is wrong with it, "" when nothing is."""
        if self.verdict != "same":
            return f"controlled runs: {self.verdict}"
        if not self.moves:
            return "the loss is constant"
        if _is_where(self.controlled[0], self.plain) or (self.seeds and self.p > PROBABLE):
            return ""
        return "the loss is not where the plain ones are"

    @property
    def p(self) -> float:
        """How probable seeds as far from the plain runs are, where there is nothing between them but luck."""
        return float(stats.mannwhitneyu(self.plain, [*self.seeds, self.controlled[0]]).pvalue)


def measure(case: Case, runs: int) -> Row:
    """Run one case plainly and under control, each run in a fresh copy."""
    asked = sorted({fault.source for fault in case.faults if not find_sources()[fault.source].modes})
    freely = [_recorded(case, ["--mode", "off"]) for _ in range(runs)]
    plain = [_level(each) for each in freely]
    controls = [part for id_ in asked for part in ("--control", id_)]
    with tempfile.TemporaryDirectory(prefix="faithful") as temporary:
        copy(case, Path(temporary) / "work")
        for _ in range(2):
            _run(case, Path(temporary) / "work", controls)
        store = Store(Path(temporary) / "work" / ".samerun")
        one, two = sorted(store.list(), key=lambda run: run.id)
        verdict = diff(store, (one, two)).verdict
        series = [_losses(run) for run in (one, two)]
    controlled = [_level(each) for each in series]
    seeds = []
    if not _is_where(controlled[0], plain):
        seeds = [_level(_recorded(case, ["--seed", str(seed), *controls])) for seed in range(1, runs)]
    moves = all(len(set(each)) > 1 and all(map(math.isfinite, each)) for each in series)
    still = all(len(set(each)) == 1 for each in freely)
    return Row(case.name, asked, plain, controlled, moves or still, verdict, seeds)


def _is_where(value: float, plain: list[float]) -> bool:
    low, high = min(plain), max(plain)
    room = max(high - low, LEAST * abs(high))
    return low - room <= value <= high + room


def _recorded(case: Case, options: list[str]) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="faithful") as temporary:
        copy(case, Path(temporary) / "work")
        _run(case, Path(temporary) / "work", options)
        (run,) = Store(Path(temporary) / "work" / ".samerun").list()
        return _losses(run)


def _run(case: Case, folder: Path, options: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "samerun", "run", *options, "--", *command(case)],
        cwd=folder,
        env=environment(case),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    if done.returncode:
        raise RuntimeError(f"{case.name} ended with {done.returncode}:\n{done.stdout[-2000:]}")


def _losses(run: Run) -> list[float]:
    return [value for trace in run.traces().values() for step in trace.losses().values() for value in step]


def _level(series: list[float]) -> float:
    return statistics.fmean(series[len(series) // 2 :]) if series else math.nan


def main() -> int:
    """Print the table; 1 when a script fails."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", help="cases, or parts of their names; default all")
    options.add_argument("--plain", type=int, default=10, help="plain runs of each")
    options.add_argument("--jobs", type=int, default=1, help="cases at a time")
    options.add_argument("--json", type=Path, metavar="FILE")
    chosen = options.parse_args()
    known = find_sources()
    cases = [
        case
        for case in load(chosen.names)
        if case.faults
        and not case.missing
        and not case.leaves_files
        and all(known[fault.source].controllable for fault in case.faults)
    ]
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    table = Table(
        "script",
        "controls asked for",
        "plain: least, most",
        "under control",
        "other seeds",
        "verdict",
        "wrong",
    )
    rows = []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for row in pool.map(lambda case: measure(case, chosen.plain), cases):
            rows.append(row)
            spread = f"{min(row.plain):.6g} … {max(row.plain):.6g}"
            table.add_row(
                row.name,
                " ".join(row.controls),
                spread,
                f"{row.controlled[0]:.6g}",
                f"{min(row.seeds):.6g} … {max(row.seeds):.6g}, p {row.p:.2g}" if row.seeds else "",
                row.verdict,
                row.wrong,
            )
            console.print(f"{row.name}: {row.wrong or 'faithful'}")
    console.print(table)
    inside = sum(min(row.plain) <= row.controlled[0] <= max(row.plain) for row in rows)
    wrong = [row.name for row in rows if row.wrong]
    console.print(
        f"{len(rows)} scripts, {len(rows) - len(wrong)} faithful, {inside} in the plain runs' range"
    )
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
