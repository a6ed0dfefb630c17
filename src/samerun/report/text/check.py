"""The outcome of a check or a diff, as text: the verdict first, how to go on last."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console
from rich.text import Text

from samerun.experiments.check.result import CheckResult
from samerun.report.safe_text import Line, put, style_text
from samerun.report.text import causes
from samerun.report.text import first_difference as place
from samerun.report.text.in_short import describe_in_short
from samerun.report.text.losses import build_loss_table
from samerun.report.text.opening import format_verdict, show_opening
from samerun.runs.secrets_in_text import ask_for_hidden
from samerun.sources.catalogue import in_folder


def show(result: CheckResult, console: Console) -> None:
    """Print the whole report."""
    found = result.verdict == "differs" and result.difference is not None
    short = describe_in_short(result.causes) if found else ()
    show_opening(console, _format_verdict(result), result.notes, result.output, short)
    table = build_loss_table(result, console.width)
    if table:
        put(console, [Text(), Text("Loss", style="bold"), *table])
    if result.verdict == "differs" and result.difference is not None:
        where = place.describe(result.difference, result.code_folder, result.pair)
        put(console, [Text(), Text("First difference", style="bold"), *where])
        put(console, [Text(), *causes.describe(result)])
    put(console, [Text(), *_list_next(result)])


def _write_reference(run: str, place: str) -> str:
    """How `samerun diff` finds a run: by its id in this folder's store, by its folder in another."""
    elsewhere = Path(place, run)
    return str(elsewhere) if elsewhere.is_absolute() and elsewhere.is_dir() else run


def _format_verdict(result: CheckResult) -> Line:
    runs = f"{len(result.runs)} runs"
    if result.verdict == "same":
        used = result.list_in_play()
        in_play = f"; in play, and not seen to differ: {', '.join(used)}" if used else ""
        names = dict.fromkeys(item.name for item in result.left_out)
        but_for = f", but for what is ignored ({', '.join(names)})" if names else ""
        return format_verdict("same", f"{result.scope}, bit for bit{but_for}{in_play}")
    if result.verdict == "differs" and result.difference is not None:
        return format_verdict("differs", f"{runs} diverge {place.write_headline(result.difference)}")
    return format_verdict("unknown", result.reason or "nothing to compare")


def _list_next(result: CheckResult) -> list[Text]:
    """How to go on, and where the runs are."""
    steps: list[tuple[str, str]] = []
    command = shlex.join(result.command) if result.command else ""
    if result.verdict == "differs":
        if command and not result.controlled:
            steps.append(
                (
                    f"samerun check --controlled {causes.write_controls(result.causes)}-- {command}",
                    "whether it repeats with every source controlled"
                    + causes.describe_side_effects(result.causes),
                )
            )
        # one that ended otherwise than the others may have found what they left there
        if command and (result.output or any(cause.source in in_folder() for cause in result.causes)):
            steps.append(
                (f"samerun check --scratch -- {command}", "a fresh copy of this folder for each run")
            )
        if result.pair is not None:
            pair = " ".join(_write_reference(run, result.place) for run in result.pair)
            steps.append((f"samerun diff {pair}", "runs A and B again"))
    lines: list[Text] = []
    if steps:
        lines.append(Text("Next", style="bold"))
        for line, why in steps:
            lines.append(Text(f"  # {why}{ask_for_hidden(line)}", style="dim"))
            lines.append(style_text(f"  {line}"))
    if result.runs:
        where = f" in {result.place}" if result.place else ""
        lines.append(style_text(f"Runs{where}: {', '.join(result.runs)}", "dim"))
    return lines
