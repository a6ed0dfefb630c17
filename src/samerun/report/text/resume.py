"""The outcome of a resume experiment, as text: the verdict first, what was recorded last."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.text import Text

from samerun.experiments.resume.result import ResumeResult
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text import first_difference
from samerun.report.text.losses import build_loss_table
from samerun.report.text.opening import format_verdict, show_opening
from samerun.runs.difference import Difference


def show(result: ResumeResult, console: Console) -> None:
    """Print the whole report."""
    show_opening(console, _format_verdict(result), result.notes, result.output)
    if result.verdict == "differs" and result.difference is not None:
        table = build_loss_table(_pair(result), console.width)
        if table:
            put(
                console,
                [Text(), Text("Loss (run 1 was never stopped, run 2 was resumed)", style="bold"), *table],
            )
        where = first_difference.describe(_hide_samples(result.difference), result.folder, result.pair)
        put(console, [Text(), Text("First difference", style="bold"), *where])
        put(console, [Text(), *_list_lacked(result)])
    put(console, [Text(), *_list_runs(result)])


def _format_verdict(result: ResumeResult) -> Line:
    if result.verdict == "same":
        return format_verdict("same", f"{_describe_course(result)}; {result.scope}, bit for bit")
    if result.verdict == "differs" and result.difference is not None:
        headline = first_difference.write_headline(result.difference)
        text = f"{_describe_course(result)}: {headline}, it diverges from the run that was never stopped"
        return format_verdict("differs", text)
    return format_verdict("unknown", result.reason or "nothing to compare")


def _describe_course(result: ResumeResult) -> str:
    """What was done: "killed at step 30 and 33, resumed from step 25 and 30"."""
    killed = " and ".join(map(str, result.kill_at))
    resumed = " and ".join(map(str, result.resumed_at))
    return f"killed at step {killed}, resumed from step {resumed}"


def _pair(result: ResumeResult) -> ResumeResult:
    """The two runs that part, over the steps that the resumed one made."""
    assert result.pair is not None
    whole, resumed = (result.losses[result.runs.index(run)] for run in result.pair)
    first = min(resumed, default=0)
    late = {step: found for step, found in whole.items() if step >= first}
    return replace(result, runs=result.pair, losses=(late, resumed))


def _hide_samples(difference: Difference) -> Difference:
    """Without what is known of its samples, where it is not of them."""
    return difference if difference.what in ("batch", "input") else replace(difference, indices_equal=None)


def _list_lacked(result: ResumeResult) -> list[Line]:
    if not result.lacked:
        return [Text("What the checkpoint lacked is not known", style="bold")]
    proof = "; a run never stopped does not diverge there" if result.causes[0].confirmed else ""
    lines: list[Line] = [Text(f"The checkpoint lacked{proof}:", style="bold")]
    for lack in result.lacked:
        lines.append(
            HangingLine(
                Text("  "),
                style_text(lack.what, "bold red").append(f": {_strip_style(lack.evidence)}", "default"),
            )
        )
        lines.extend(style_text(f"      {line}", "cyan") for line in lack.advice.splitlines())
    return lines


def _strip_style(text: str) -> str:
    return style_text(text).plain


def _list_runs(result: ResumeResult) -> list[Line]:
    if not result.runs:
        return []
    lines: list[Line] = [style_text(f"Runs in {result.place}:" if result.place else "Runs:", "dim")]
    lines += [
        style_text(f"  {run}  {role}", "dim") for run, role in zip(result.runs, result.roles, strict=True)
    ]
    return lines
