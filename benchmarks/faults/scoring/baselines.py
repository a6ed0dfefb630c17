"""What one gets without samerun: two runs' DebugMode logs compared, and two runs' printed losses."""

from __future__ import annotations

import bisect
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from scoring.answer import base
from scoring.case import Case
from scoring.copying import Line, copy, environment
from scoring.judging import Score
from scoring.witnessed import run

DEBUGMODE = Path(__file__).parent / "debugmode.py"
LIMIT = 300  # seconds


@dataclass(frozen=True)
class Baseline:
    """What one way of looking says of a case; what it cannot say is None."""

    way: str
    verdict: str  # same, differs, or failed
    step: bool | None = None
    operation: bool | None = None
    line: bool | None = None
    note: str = ""


def baselines(case: Case) -> tuple[Case, list[Baseline]]:
    """Both baselines of a case, each with two fresh runs."""
    with tempfile.TemporaryDirectory(prefix="fault") as temporary:
        lines = copy(case, Path(temporary) / "losses")
        a, b = (run(case, Path(temporary) / "losses", witness=False).losses for _ in range(2))
        losses = Baseline("losses", "same" if a == b else "differs")
        if case.command:
            return case, [Baseline("DebugMode", "failed", note="it runs one script"), losses]
        copy(case, Path(temporary) / "debugmode")
        try:
            logs = [_log(case, Path(temporary) / "debugmode") for _ in range(2)]
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return case, [Baseline("DebugMode", "failed", note=str(error)), losses]
        return case, [_compared(case, logs[0], logs[1], lines), losses]


def _log(case: Case, folder: Path) -> dict[str, Any]:
    out = folder / "debugmode.log"
    done = subprocess.run(
        [sys.executable, str(DEBUGMODE), case.script, str(out)],
        cwd=folder,
        env=environment(case),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if done.returncode or not out.exists():
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no log")
    log: dict[str, Any] = json.loads(out.read_text())
    out.unlink()
    return log


def _compared(case: Case, a: dict[str, Any], b: dict[str, Any], lines: Sequence[Line]) -> Baseline:
    """As DebugMode.check_hash_mismatches does: calls must match one by one, else it raises."""
    if len(a["calls"]) != len(b["calls"]):
        return Baseline("DebugMode", "differs", note="raises: the logs have different lengths")
    for at, (mine, theirs) in enumerate(zip(a["calls"], b["calls"], strict=True)):
        if mine[:2] != theirs[:2]:
            return Baseline("DebugMode", "differs", note=f"raises: operators don't match at index {at}")
    pairs = list(zip(a["calls"], b["calls"], strict=True))
    unlike = [at for at, (mine, theirs) in enumerate(pairs) if mine[2] != theirs[2]]
    if not unlike:
        return Baseline("DebugMode", "same")
    if case.clean:
        return Baseline("DebugMode", "differs")
    at = unlike[0]
    mine = a["calls"][at]
    fault = case.faults[0]
    step = bisect.bisect_right(a["steps"], at)
    places = {(line.file, line.number) for line in lines if line.source == fault.source}
    return Baseline(
        "DebugMode",
        "differs",
        step in fault.step if fault.step else None,
        base(mine[0]) in fault.operation if fault.operation else None,
        mine[3] is not None and tuple(mine[3]) in places,
        note=mine[0],
    )


def show_baselines(
    compared: Sequence[tuple[Case, list[Baseline]]], scores: Sequence[Score], console: Console
) -> None:
    """The baselines beside samerun, in one table: neither names a source."""
    table = Table(title="beside what there is", box=None, pad_edge=False, header_style="bold")
    for column in ("", "faults seen", "false alarms", "source", "step", "operation", "line"):
        table.add_column(column)
    faulty = [score for score in scores if score.counted]
    alarms = {score.case.name for score in scores if score.false_alarm}
    clean = {score.case.name for score in scores if score.case.clean}
    seen = sum(score.answer.verdict == "differs" for score in faulty)
    row = [_share([score.top1[aspect] for score in faulty if aspect in score.top1]) for aspect in ASKED]
    table.add_row("samerun", f"{seen}/{len(faulty)}", f"{len(alarms)}/{len(clean)}", *row)
    for way in ("DebugMode", "losses"):
        made = [(case, each) for case, ways in compared for each in ways if each.way == way]
        here = [each for case, each in made if not case.clean and not case.rare]
        told = [each.verdict == "differs" for case, each in made if case.clean]
        aspects = [_share(_asked(made, aspect)) if way == "DebugMode" else "-" for aspect in ASKED[1:]]
        caught = sum(each.verdict == "differs" for each in here)
        table.add_row(way, f"{caught}/{len(here)}", f"{sum(told)}/{len(told)}", "-", *aspects)
    console.print()
    console.print(table)


ASKED = ("source", "step", "operation", "line")


def _asked(made: Sequence[tuple[Case, Baseline]], aspect: str) -> list[bool]:
    """Right or wrong, for each fault whose truth has that aspect."""
    attribute = {"step": "step", "operation": "operation"}.get(aspect)
    faulty = [(case, each) for case, each in made if not case.clean and not case.rare]
    if attribute is not None:
        faulty = [(case, each) for case, each in faulty if getattr(case.faults[0], attribute)]
    return [bool(getattr(each, aspect)) for _, each in faulty]


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values)}/{len(values)}" if values else "-"
