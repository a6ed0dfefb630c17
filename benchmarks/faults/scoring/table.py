"""Scores as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from scoring.judging import ASPECTS, Score
from scoring.totals import goals, totals


def show(scores: Sequence[Score], console: Console) -> None:
    """Print a row for each score, then the totals and the goals."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("case", "truth", "answer", *ASPECTS, "patch", "units", "remarks"):
        table.add_column(column, overflow="fold")
    for score in scores:
        table.add_row(*_row(score))
    console.print(table)
    summary = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "top 1", "top 3"):
        summary.add_column(column)
    for row in totals(scores):
        summary.add_row(*row)
    console.print()
    console.print(summary)
    console.print()
    for goal in goals(scores):
        mark = "[green]met   [/]" if goal.met else "[red]MISSED[/]"
        console.print(f"{mark} {goal.name}: {goal.seen}", soft_wrap=True)


def _row(score: Score) -> list[str]:
    truth = " + ".join(fault.source for fault in score.case.faults) or "same"
    named = " + ".join(dict.fromkeys(said.source for said in score.answer.causes))
    said = named if score.answer.verdict == "differs" else score.answer.verdict
    bad = score.false_same or score.false_alarm or (score.counted and not score.top1.get("source"))
    marks = [_mark(score, aspect) if score.counted else "" for aspect in ASPECTS]
    patch = {None: "", "same": "[green]same[/]"}.get(score.patched, f"[red]{score.patched}[/]")
    units = "" if score.units is None else f"{score.units:.1f}"
    return [
        score.case.name,
        truth,
        f"[red]{said or '?'}[/]" if bad else said,
        *marks,
        patch,
        units,
        _remarks(score),
    ]


def _mark(score: Score, aspect: str) -> str:
    if aspect not in score.top1:
        return ""
    if score.top1[aspect]:
        return "[green]1[/]"
    return "[yellow]3[/]" if score.top3[aspect] else "[red]✗[/]"


def _remarks(score: Score) -> str:
    remarks = []
    if score.missed and score.counted:
        remarks.append("missed " + ", ".join(score.missed))
    if score.invented:
        remarks.append("invented " + ", ".join(score.invented))
    if score.false_same:
        remarks.append("FALSE SAME")
    if score.false_alarm:
        remarks.append("FALSE ALARM")
    if score.case.rare and not score.counted:
        remarks.append("rare, did not fire")
    return "; ".join(remarks)
