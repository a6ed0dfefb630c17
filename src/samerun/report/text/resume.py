"""The outcome of a resume experiment, as text: the verdict first, what was recorded last."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.text import Text

from samerun.experiments.resume.result import ResumeResult
from samerun.report.safe_text import Hung, Line, put, styled
from samerun.report.text import first_difference
from samerun.report.text.losses import loss_table
from samerun.runs.difference import Difference


def show(result: ResumeResult, console: Console) -> None:
    """Print the whole report."""
    put(console, [_verdict(result)])
    put(console, [Hung(Text("  "), styled(line)) for line in result.notes])
    if result.output:
        put(console, [Text(), Text("The last lines it printed", style="bold")])
        put(console, [styled(f"  {line}", "dim") for line in result.output])
    if result.verdict == "differs" and result.difference is not None:
        table = loss_table(_pair(result), console.width)
        if table:
            put(
                console,
                [Text(), Text("Loss (run 1 was never stopped, run 2 was resumed)", style="bold"), *table],
            )
        where = first_difference.describe(_seen(result.difference), result.folder, result.pair)
        put(console, [Text(), Text("First difference", style="bold"), *where])
        put(console, [Text(), *_lacked(result)])
    put(console, [Text(), *_runs(result)])


def _verdict(result: ResumeResult) -> Line:
    if result.verdict == "same":
        return _line("✓ same", "bold green", f"{_course(result)}; {result.scope}, bit for bit")
    if result.verdict == "differs" and result.difference is not None:
        headline = first_difference.headline(result.difference)
        text = f"{_course(result)}: {headline}, it parts from the run that was never stopped"
        return _line("✗ differs", "bold red", text)
    return _line("? unknown", "bold yellow", result.reason or "nothing to compare")


def _course(result: ResumeResult) -> str:
    """What was done: "killed at step 30 and 33, resumed from step 25 and 30"."""
    killed = " and ".join(map(str, result.kill_at))
    resumed = " and ".join(map(str, result.resumed_at))
    return f"killed at step {killed}, resumed from step {resumed}"


def _line(word: str, style: str, rest: str) -> Line:
    return Hung(Text(word, style=style).append(" — ", "default"), styled(rest))


def _pair(result: ResumeResult) -> ResumeResult:
    """The two runs that part, over the steps that the resumed one made."""
    assert result.pair is not None
    whole, resumed = (result.losses[result.runs.index(run)] for run in result.pair)
    first = min(resumed, default=0)
    late = {step: found for step, found in whole.items() if step >= first}
    return replace(result, runs=result.pair, losses=(late, resumed))


def _seen(difference: Difference) -> Difference:
    """Without what is known of its samples, where it is not of them."""
    return difference if difference.what in ("batch", "input") else replace(difference, indices_equal=None)


def _lacked(result: ResumeResult) -> list[Line]:
    if not result.lacked:
        return [Text("What the checkpoint lacked cannot be told", style="bold")]
    proof = "; a run never stopped does not part there" if result.causes[0].confirmed else ""
    lines: list[Line] = [Text(f"The checkpoint lacked{proof}:", style="bold")]
    for lack in result.lacked:
        lines.append(
            Hung(Text("  "), styled(lack.what, "bold red").append(f": {_plain(lack.evidence)}", "default"))
        )
        lines.extend(styled(f"      {line}", "cyan") for line in lack.advice.splitlines())
    return lines


def _plain(text: str) -> str:
    return styled(text).plain


def _runs(result: ResumeResult) -> list[Line]:
    if not result.runs:
        return []
    lines: list[Line] = [styled(f"Runs in {result.place}:" if result.place else "Runs:", "dim")]
    lines += [styled(f"  {run}  {role}", "dim") for run, role in zip(result.runs, result.roles, strict=True)]
    return lines
