"""The outcome of a verify, as text: the answer, the first quantity that moved, what changed, the two runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from samerun.experiments.check.result import CheckResult
from samerun.experiments.verify.bisected import Bisected
from samerun.experiments.verify.changed import Changed
from samerun.experiments.verify.result import VerifyResult
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text import causes
from samerun.report.text import first_difference as place
from samerun.report.text.moved import describe_moved

_MARKS = {
    "same": ("✓ same bits", "bold green"),
    "within": ("≈ within the bounds", "bold yellow"),
    "differs": ("✗ differs", "bold red"),
    "unknown": ("? unknown", "bold yellow"),
    "stale": ("! stale", "bold yellow"),
}
_MOST = 8  # of each list


def show(result: VerifyResult, console: Console) -> None:
    """Print the whole report."""
    word, style = _MARKS[result.verdict]
    if result.counted is not None and result.verdict == "same":
        word = "✓ unchanged"
    put(console, [HangingLine(Text(word, style=style).append(" — ", "default"), style_text(_say(result)))])
    put(console, [HangingLine(Text("  "), style_text(line)) for line in _list_notes(result)])
    if result.output:
        put(console, [Text(), Text("The last lines it printed", style="bold")])
        put(console, [style_text(f"  {line}", "dim") for line in result.output])
    if result.verdict in ("differs", "within", "unknown"):
        _put_list(console, "Moved", [describe_moved(item) for item in result.moved])
    _put_list(console, _head_changed(result), describe_changed(result.changed))
    compared, unsteady = result.compared, result.unsteady
    if compared is not None:
        explains = unsteady is None and not any(item.confirmed for item in result.changed)
        explains &= not result.changed or any(cause.confirmed for cause in compared.causes)
        _put_compared(console, "First difference (run A is the locked one)", compared, explains)
    if unsteady is not None:
        _put_compared(console, "It does not repeat: two runs of now are not the same either", unsteady, True)
    if result.bisected is not None:
        _put_list(console, "Since which commit", _describe_bisected(result.bisected))
    put(console, [Text(), *_list_next(result)])


def _head_changed(result: VerifyResult) -> str:
    head = "Changed since the lock"
    if result.verdict == "same":
        return f"{head}, without effect on what the lock holds"
    likely = not all(item.ruled_out for item in result.changed)
    if result.verdict == "differs" and likely and not any(item.confirmed for item in result.changed):
        return f"{head} (likely the cause, not confirmed)"
    return head


def describe_changed(changed: Sequence[Changed]) -> list[str]:
    """Each on one line: its kind, where, what it was and is, and what runs with it as locked showed."""
    count = sum(max(item.places, 1) for item in changed if item.confirmed)
    what = "it" if count == 1 else f"these {count} changes"
    lines = []
    for item in changed:
        at = "" if item.call_site is None else f"{item.call_site}: "
        proof = ""
        if item.confirmed:
            proof = f" (confirmed: with {what} as locked, a run gives the locked bits)"
        elif item.ruled_out:
            proof = " (ruled out: with it as locked, a run gives the same bits as without)"
        lines.append(f"{item.kind}: {at}{item.text}{proof}")
    return lines


def _describe_bisected(found: Bisected) -> list[str]:
    verdicts = [f"{item.commit[:12]} {item.verdict}" for item in found.tried]
    runs = f"{len(verdicts)} runs in a clone: {', '.join(verdicts)}"
    files = [f"{'changed' if found.commit is None else 'it changed'} {name}" for name in found.files]
    if found.commit is not None:
        return [f"{found.commit[:12]} is the first that moved a bit: {found.subject}", *files, runs]
    named = [f"one of {', '.join(commit[:12] for commit in found.candidates)}"] if found.candidates else []
    return [*named, found.reason or "no commit was found", *files, runs]


def _put_compared(console: Console, head: str, compared: CheckResult, explains: bool) -> None:
    """Where two runs part, and if asked why."""
    if compared.difference is None:
        return
    where = place.describe(compared.difference, compared.code_folder, compared.pair)
    put(console, [Text(), Text(head, style="bold"), *where])
    if explains:
        put(console, [Text(), *causes.describe(compared)])


def _say(result: VerifyResult) -> str:
    if result.counted is not None and result.verdict == "same":
        counted = ", ".join(f"{count} {what}" for what, count in result.counted.items())
        shown = "as locked, as far as it shows without a run"
        return f"{shown}: {counted}, and the variables that move numbers or that the code names"
    if result.verdict == "same":
        where = _name_steps(result)
        named = ", ".join(result.quantities)
        other = result.environment != result.locked_environment
        on = f"environment {result.environment}" + (
            f", as locked on {result.locked_environment}" if other else ""
        )
        return f"{where}: {named}; {on}"
    if result.verdict == "within":
        far = "; ".join(
            f"{item.name} is {item.distance:.2g} off, bound {item.bound:.2g}" for item in result.distances
        )
        return f"same data, code and draws; {far}; another environment than the locked one"
    if result.verdict == "differs":
        return describe_moved(result.moved[0]) if result.moved else "it is not the locked run"
    if result.verdict == "unknown" and result.moved:
        return f"its bits are not the locked ones, and need not be: {result.reason}; the lock has no bounds"
    return result.reason or "nothing to compare"


def _name_steps(result: VerifyResult) -> str:
    """Those that were compared."""
    if not result.first_step:
        whole = f"{result.steps} steps"
        part = f"the first {result.steps}"
    else:
        whole = part = f"steps {result.first_step} to {result.steps - 1}, from a checkpoint"
    return whole if result.at is None else f"steps {', '.join(map(str, result.at))} of {part}"


def _list_notes(result: VerifyResult) -> list[str]:
    notes = list(result.notes)
    if result.verdict == "differs" and result.distances:
        far = [item for item in result.distances if item.distance > item.bound]
        notes += [
            f"{item.name} is {item.distance:.2g} off, beyond the bound {item.bound:.2g}" for item in far
        ]
    if result.verdict == "within":
        notes.append(f"the bounds were measured with {', '.join(result.factors)}")
    if result.verdict == "within" and result.exact:
        notes.append("--exact: within the bounds is not enough")
    if result.lock is not None:
        notes.append(f"environment {result.environment} is added to {result.path}")
    return notes


def _put_list(console: Console, head: str, lines: list[str]) -> None:
    if not lines:
        return
    shown = lines if len(lines) <= _MOST + 1 else [*lines[:_MOST], f"and {len(lines) - _MOST} more"]
    rows: list[Line] = [HangingLine(Text("  "), style_text(line)) for line in shown]
    put(console, [Text(), Text(head, style="bold"), *rows])


def _write_update(result: VerifyResult) -> tuple[str, str]:
    """How to lock anew, and why: without a command the locked one would be run."""
    if not result.update:
        return "samerun lock --update", "where that is meant: lock what it gives now"
    return shlex.join(result.update), "lock this command instead: it reports which digests moved"


def _list_next(result: VerifyResult) -> list[Text]:
    lines: list[Text] = []
    steps: list[tuple[str, str]] = []
    if result.compared is not None and result.compared.pair is not None:
        steps.append((f"samerun diff {shlex.join(result.compared.pair)}", "the locked run and this one"))
    if result.verdict == "differs" and not result.changed and result.compared is None:
        command = shlex.join(result.command)
        steps.append((f"samerun check --controlled -- {command}", "whether it repeats, and if not, why"))
    if result.verdict == "unknown" and result.moved:
        steps.append(("samerun verify --add", "lock what this class of machine gives, too"))
    if result.verdict in ("differs", "stale"):
        steps.append(_write_update(result))
    if steps:
        lines.append(Text("Next", style="bold"))
    for line, why in steps:
        lines += [Text(f"  # {why}", style="dim"), style_text(f"  {line}")]
    if result.run is not None:
        lines.append(style_text(f"Run in {result.place}: {result.run}", "dim"))
    return lines
