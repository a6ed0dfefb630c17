"""The outcome of a lock, as text: what was written and that it would notice one bit, or why nothing was."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from samerun.experiments.lock.result import LockResult
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text import check
from samerun.report.text.moved import describe_moved
from samerun.report.text.opening import format_verdict, show_opening
from samerun.runs.lock.file import format_lock


def show(result: LockResult, console: Console) -> None:
    """Print the whole report."""
    if result.check.verdict != "same":
        check.show(result.check, console)
        put(console, [style_text(f"{result.path} was not written: only what repeats can be locked.", "bold")])
        return
    lock = result.lock
    if lock is None:
        show_opening(
            console, format_verdict("unknown", result.reason or "nothing to lock"), result.check.notes
        )
        return
    show_opening(console, format_verdict("same", f"{result.check.scope}, bit for bit"), result.check.notes)
    count = format_lock(lock).count("\n")
    said = [
        f"{result.path}: {count} lines, environment {result.environment}, mode {lock.mode}, seed {lock.seed}"
    ]
    if lock.left_out:
        said.append(
            f"not locked, since it differs from run to run without effect: {', '.join(lock.left_out)}"
        )
    flip = result.flip
    if flip is not None:
        said.append(
            f"negative control: with bit {flip.bit} of the {flip.quantity} digest of step {flip.step} "
            "inverted, samerun verify reports a difference"
        )
    bounds = result.bounds
    if bounds is not None:
        far = [f"loss {bounds.loss:.2g}", *(f"{name} {value:.2g}" for name, value in bounds.metrics.items())]
        said.append(f"bounds for other machines: {', '.join(far)}; measured with {', '.join(bounds.factors)}")
    put(console, [Text(), Text("Lock", style="bold"), *_hang([*said, *result.notes])])
    if result.moved is not None:
        put(console, [Text(), Text("Since the lock before", style="bold"), *_list_moved(result)])
    put(
        console,
        [Text(), Text("Next", style="bold"), Text("  # whether it still gives these bits", style="dim")],
    )
    put(console, [Text("  samerun verify")])


def _hang(lines: list[str]) -> list[Line]:
    return [HangingLine(Text("  "), style_text(line)) for line in lines]


def _list_moved(result: LockResult) -> list[Line]:
    moved = [describe_moved(item) for item in result.moved or ()]
    names = ", ".join(result.unmoved)
    if not moved:
        return _hang([f"no digest moved: {names}"])
    kept = f"not moved: {names}" if names else "every digest moved"
    return _hang([*(f"moved: {line}" for line in moved), kept])
