"""A diagnosis as text: the verdict, then each cause with its proof, then the patch."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console
from rich.text import Text

from samerun.comparing.growth import Growth
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.result import Diagnosis, FirstDifference, Proof
from samerun.experiments.diagnose.storage import PATCH
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text import check as text
from samerun.report.text import draw_counts, first_difference
from samerun.report.text import replayed_operation as alone
from samerun.report.text.causes import describe_side_effects, write_controls
from samerun.report.text.in_short import NO_SOURCE, describe_in_short, describe_ruled_out, find_page
from samerun.report.text.losses import build_loss_table
from samerun.report.text.opening import format_verdict, show_opening
from samerun.runs.secrets_in_text import ask_for_hidden
from samerun.sources.catalogue import find_sources

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def show(diagnosis: Diagnosis, console: Console, patch_file: str | None = None) -> None:
    """Print the whole report. `patch_file` is where the patch is written, None when it is not."""
    check = diagnosis.check
    if check.verdict != "differs":
        text.show(check, console)
        if diagnosis.confidence:
            put(console, [style_text(diagnosis.confidence, "dim")])
        return
    causes = [cause for found in diagnosis.found for cause in found.causes]
    show_opening(
        console,
        _format_verdict(diagnosis),
        check.notes,
        short=describe_in_short(causes, _find_tried_fix(diagnosis)),
    )
    table = build_loss_table(check, console.width)
    if table:
        put(console, [Text(), Text("Loss", style="bold"), *table])
    for number, found in enumerate(diagnosis.found, start=1):
        put(console, [Text(), *_format_found(number, found, check.code_folder)])
    for suspect in check.suspects:
        put(console, [_format_labelled("also", f"{suspect.source}: {suspect.evidence}")])
    if diagnosis.patch is not None:
        put(console, [Text(), *_patch(diagnosis.patch, patch_file)])
    put(console, [Text(), *_list_next(diagnosis, patch_file)])


def _format_verdict(diagnosis: Diagnosis) -> Line:
    sources = [cause.source for found in diagnosis.found for cause in found.causes if cause.confirmed]
    if not sources:
        said = "no source was proved to be the reason"
    elif len(sources) == 1:
        said = f"one reason: {sources[0]}"
    else:
        said = f"{len(sources)} reasons: {', '.join(sources)}"
    if diagnosis.complete:
        said += (
            "; with it controlled, the runs agree"
            if len(sources) == 1
            else ("; with all of them controlled, the runs agree")
        )
    elif sources:
        said += "; that is not all of it"
    return format_verdict("differs", said)


def _find_tried_fix(diagnosis: Diagnosis) -> str | None:
    patch = diagnosis.patch
    if patch is not None and patch.diff and patch.verified:
        return f"the patch below: {len(patch.runs)} runs with it are the same"
    return None


def _format_found(number: int, found: FirstDifference, folder: str) -> list[Line]:
    where = first_difference.write_headline(found.difference)
    names = " and ".join(cause.source for cause in found.causes if cause.confirmed)
    title = style_text(f"{number}. ", "bold").append_text(
        style_text(names, "bold red") if names else style_text("not proved", "bold yellow")
    )
    lines: list[Line] = [HangingLine(title.append(" ", "default"), style_text(where))]
    if not found.causes:
        lines.append(_format_labelled("cause", NO_SOURCE))
    for cause in found.causes:
        lines += _format_cause(cause, alone=len(found.causes) == 1)
    if found.proof is not None:
        lines.append(_format_labelled("proof", _describe_proof(found.proof, found.difference.step)))
    lines += first_difference.describe(found.difference, folder, None)
    if found.alone is not None:
        first, *ways = alone.describe_probe(found.alone)
        lines += [_format_labelled("alone", first), *(_format_labelled("", way) for way in ways)]
    lines += [_format_labelled("draws", line) for line in draw_counts.describe_draws(found.ledger)]
    if (grown := _describe_growth(found.growth)) is not None:
        lines.append(_format_labelled("then", grown))
    lines += [
        _format_labelled("not", f"{cause.source}: {describe_ruled_out(cause.source)}")
        for cause in found.ruled_out
    ]
    return lines


def _format_cause(cause: Cause, *, alone: bool) -> list[Line]:
    name = "" if alone and cause.confirmed else f"{cause.source}: "
    doubt = "" if cause.confirmed else " (not confirmed)"
    where = f" ({cause.call_site})" if cause.call_site and cause.call_site not in cause.evidence else ""
    lines: list[Line] = [_format_labelled("seen", f"{name}{cause.evidence}{where}{doubt}")]
    for line in cause.advice.splitlines():
        lines.append(Text(f"  {'fix':<10}", style="dim").append_text(style_text(line, "cyan")))
    if page := find_page(cause.source):
        lines.append(Text(f"  {'page':<10}", style="dim").append_text(style_text(page, "dim")))
    return lines


def _describe_proof(proof: Proof, step: int) -> str:
    also = [id_ for id_ in proof.controlled]
    how = f"with {' and '.join(also)} controlled, {len(proof.runs)} further runs agree"
    if proof.agree_until is None:
        return f"{how} to their end ({proof.steps} step{'' if proof.steps == 1 else 's'})"
    if proof.agree_until == step:
        return f"{how} there, and diverge later in that step"
    return f"{how} there, and diverge at step {proof.agree_until}"


def _describe_growth(growth: Growth | None) -> str | None:
    if growth is None or growth.alive is None:
        return None
    if growth.reached_weights_at is None:
        healed = "" if growth.healed_at is None else f", and is gone from step {growth.healed_at} on"
        return f"the difference never reaches the weights{healed}"
    if not growth.alive:
        return f"the weights differ after step {growth.reached_weights_at}, and are equal again at the end"
    grown = [item for item in growth.distances if item.median_ulps is not None]
    said = f"the weights differ from step {growth.reached_weights_at} to the end"
    if len(grown) < 2:
        return said
    first, last = grown[0], grown[-1]
    return (
        f"{said}: in the median by {_format_ulps(first.median_ulps)} after step {first.step}, by "
        f"{_format_ulps(last.median_ulps)} after step {last.step}"
    )


def _format_ulps(count: float | None) -> str:
    return "1 ulp" if count == 1 else f"{count or 0:.3g} ulps"


def _patch(patch: Patch, file: str | None) -> list[Line]:
    lines: list[Line] = []
    if patch.diff:
        tried = {
            True: f"the patched code was run {len(patch.runs)} times: same",
            False: "the patched code still differs",
            None: "not tried: the folder, or a file to edit, could not be copied",
        }[patch.verified]
        where = "" if file in (None, "-") else f", written to {file}"
        lines.append(HangingLine(Text("Patch ", style="bold"), style_text(f"({tried}{where})")))
        lines += [style_text(f"  {line}", _COLOURS.get(line[:1], "")) for line in patch.diff.splitlines()]
        lines += [_format_labelled("its cost", cost) for cost in patch.costs]
    elif patch.verified is False and not patch.partial:
        lines.append(
            HangingLine(
                Text("Patch ", style="bold"), style_text("none: the edits that were tried do not fix it")
            )
        )
    if patch.partial:
        lines.append(HangingLine(Text("Edits ", style="bold"), style_text(f"({patch.why_partial})")))
        lines += [style_text(f"  {line}", _COLOURS.get(line[:1], "")) for line in patch.partial.splitlines()]
    for source, why in patch.cannot.items():
        if source in patch.unfaithful:
            why = "none that leaves the training what it is; its fix says what to do"
        lines.append(_format_labelled("no edit", f"{source}: {why}"))
    return lines


def _list_next(diagnosis: Diagnosis, patch_file: str | None) -> list[Text]:
    check = diagnosis.check
    command = shlex.join(check.command)
    steps: list[tuple[str, str]] = []
    if diagnosis.patch is not None and diagnosis.patch.diff:
        file = _find_kept_patch(check) if patch_file in (None, "-") else patch_file
        if file is None:
            steps.append((f"samerun diagnose --patch fix.patch -- {command}", "keep the patch in a file"))
        else:
            steps.append((f"patch -p1 < {shlex.quote(file)}", "fix the script"))
    causes = _find_controllable(diagnosis)
    if causes is not None:
        said = f"repeatable without an edit{describe_side_effects(causes)}"
        steps.append((f"samerun run {write_controls(causes)}-- {command}", said))
    steps.append((f"samerun report {check.runs[0]}", "all of this as one HTML file"))
    lines = [Text("Next", style="bold")]
    for line, why in steps:
        lines.append(Text(f"  # {why}{ask_for_hidden(line)}", style="dim"))
        lines.append(style_text(f"  {line}"))
    where = f" in {check.place}" if check.place else ""
    lines.append(style_text(f"{diagnosis.recorded} runs recorded{where}", "dim"))
    return lines


def _find_kept_patch(check: CheckResult) -> str | None:
    """The file in which the diagnosis keeps its patch, as long as it is there."""
    path = Path(check.place, check.runs[0], PATCH)
    return str(path) if path.is_file() else None


def _find_controllable(diagnosis: Diagnosis) -> list[Cause] | None:
    """The confirmed causes, if `samerun run` can control every one of them."""
    known = find_sources()
    causes = [cause for found in diagnosis.found for cause in found.causes if cause.confirmed]
    if not diagnosis.complete or not all(
        cause.source in known and known[cause.source].controllable for cause in causes
    ):
        return None
    return causes


def _format_labelled(label: str, said: str) -> Line:
    return HangingLine(Text(f"  {label:<10}", style="dim"), style_text(said))
