"""A diagnosis as text: the verdict, then each cause with its proof, then the patch."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.text import Text

from samerun.comparing.growth import Growth
from samerun.experiments.diagnose.result import Diagnosis, Found, Proof
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch
from samerun.report.safe_text import Hung, Line, put, styled
from samerun.report.text import check as text
from samerun.report.text import draw_counts, first_difference
from samerun.report.text import replayed_operation as alone
from samerun.report.text.causes import NO_SOURCE
from samerun.report.text.losses import loss_table
from samerun.sources.catalogue import catalogue

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def show(diagnosis: Diagnosis, console: Console, patch_file: str | None = None) -> None:
    """Print the whole report. `patch_file` is where the patch is written, None when it is not."""
    check = diagnosis.check
    if check.verdict != "differs":
        text.show(check, console)
        if diagnosis.confidence:
            put(console, [styled(diagnosis.confidence, "dim")])
        return
    put(console, [_verdict(diagnosis)])
    put(console, [Hung(Text("  "), styled(line)) for line in check.notes])
    table = loss_table(check, console.width)
    if table:
        put(console, [Text(), Text("Loss", style="bold"), *table])
    for number, found in enumerate(diagnosis.found, start=1):
        put(console, [Text(), *_found(number, found, check.folder)])
    for suspect in check.suspects:
        put(console, [_labelled("also", f"{suspect.source}: {suspect.evidence}")])
    if diagnosis.patch is not None:
        put(console, [Text(), *_patch(diagnosis.patch, patch_file)])
    put(console, [Text(), *_next(diagnosis, patch_file)])


def _verdict(diagnosis: Diagnosis) -> Line:
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
    return Hung(Text("✗ differs", style="bold red").append(" — ", "default"), styled(said))


def _found(number: int, found: Found, folder: str) -> list[Line]:
    where = first_difference.headline(found.difference)
    names = " and ".join(cause.source for cause in found.causes if cause.confirmed)
    title = styled(f"{number}. ", "bold").append_text(
        styled(names, "bold red") if names else styled("not proved", "bold yellow")
    )
    lines: list[Line] = [Hung(title.append(" ", "default"), styled(where))]
    if not found.causes:
        lines.append(_labelled("cause", NO_SOURCE))
    for cause in found.causes:
        lines += _cause(cause, alone=len(found.causes) == 1)
    if found.proof is not None:
        lines.append(_labelled("proof", _proof(found.proof)))
    lines += first_difference.describe(found.difference, folder, None)
    if found.alone is not None:
        first, *ways = alone.said(found.alone)
        lines += [_labelled("alone", first), *(_labelled("", way) for way in ways)]
    lines += [_labelled("draws", line) for line in draw_counts.said(found.ledger)]
    if (grown := _grown(found.growth)) is not None:
        lines.append(_labelled("then", grown))
    lines += [
        _labelled("not", f"{cause.source}: with it controlled, the runs still part there")
        for cause in found.ruled_out
    ]
    return lines


def _cause(cause: Cause, *, alone: bool) -> list[Line]:
    name = "" if alone and cause.confirmed else f"{cause.source}: "
    doubt = "" if cause.confirmed else " (not confirmed)"
    where = f" ({cause.call_site})" if cause.call_site and cause.call_site not in cause.evidence else ""
    lines: list[Line] = [_labelled("seen", f"{name}{cause.evidence}{where}{doubt}")]
    for line in cause.advice.splitlines():
        lines.append(Text(f"  {'fix':<10}", style="dim").append_text(styled(line, "cyan")))
    return lines


def _proof(proof: Proof) -> str:
    also = [id_ for id_ in proof.controlled]
    how = f"with {' and '.join(also)} controlled, {len(proof.runs)} further runs agree"
    if proof.agree_until is None:
        return f"{how} to their end ({proof.steps} step{'' if proof.steps == 1 else 's'})"
    return f"{how} there, and part at step {proof.agree_until}"


def _grown(growth: Growth | None) -> str | None:
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
        f"{said}: in the median by {_ulps(first.median_ulps)} after step {first.step}, by "
        f"{_ulps(last.median_ulps)} after step {last.step}"
    )


def _ulps(count: float | None) -> str:
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
        lines.append(Hung(Text("Patch ", style="bold"), styled(f"({tried}{where})")))
        lines += [styled(f"  {line}", _COLOURS.get(line[:1], "")) for line in patch.diff.splitlines()]
    elif patch.verified is False:
        lines.append(
            Hung(Text("Patch ", style="bold"), styled("none: the edits that were tried do not mend it"))
        )
    if patch.partial:
        lines.append(Hung(Text("Edits ", style="bold"), styled("(not enough by themselves, and not tried)")))
        lines += [styled(f"  {line}", _COLOURS.get(line[:1], "")) for line in patch.partial.splitlines()]
    for source, why in patch.cannot.items():
        lines.append(_labelled("no edit", f"{source}: {why}"))
    return lines


def _next(diagnosis: Diagnosis, patch_file: str | None) -> list[Text]:
    check = diagnosis.check
    command = shlex.join(check.command)
    steps: list[tuple[str, str]] = []
    if diagnosis.patch is not None and diagnosis.patch.diff:
        if patch_file in (None, "-"):
            steps.append((f"samerun diagnose --patch fix.patch -- {command}", "keep the patch in a file"))
        else:
            steps.append((f"patch -p1 < {patch_file}", "mend the script"))
    controls = _controls(diagnosis)
    if controls is not None:
        steps.append((f"samerun run {controls}-- {command}", "repeatable without an edit"))
    steps.append((f"samerun report {check.runs[0]}", "all of this as one HTML file"))
    lines = [Text("Next", style="bold")]
    for line, why in steps:
        lines.append(Text(f"  # {why}", style="dim"))
        lines.append(styled(f"  {line}"))
    where = f" in {check.place}" if check.place else ""
    lines.append(styled(f"{diagnosis.recorded} runs recorded{where}", "dim"))
    return lines


def _controls(diagnosis: Diagnosis) -> str | None:
    """What `samerun run` is to be asked for beside its mode; None where it cannot control every cause."""
    known = catalogue()
    causes = {cause.source for found in diagnosis.found for cause in found.causes if cause.confirmed}
    if not diagnosis.complete or any(id_ not in known or not known[id_].controllable for id_ in causes):
        return None
    asked = (id_ for id_ in sorted(causes) if not known[id_].is_controlled_in("strict"))
    return "".join(f"--control {id_} " for id_ in asked)


def _labelled(label: str, said: str) -> Line:
    return Hung(Text(f"  {label:<10}", style="dim"), styled(said))
