"""The sources behind a first difference, with what was seen and how to control them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from samerun.experiments.check.result import CheckResult
from samerun.explaining.cause import Cause
from samerun.report.safe_text import HangingLine, Line, style_text
from samerun.report.text.in_short import NO_SOURCE, describe_ruled_out, find_page
from samerun.sources.catalogue import find_sources


def describe(result: CheckResult) -> list[Line]:
    """The lines on causes, suspects and what was ruled out."""
    lines: list[Line] = []
    for number, cause in enumerate(result.causes):
        if number:
            lines.append(Text())
        lines.append(_format_title(cause, first=number == 0))
        lines.extend(_format_cause(cause))
    if not result.causes:
        lines.append(Text(f"Cause: {NO_SOURCE}", style="bold"))
    for suspect in result.suspects:
        lines.append(_format_listed("Also suspicious: ", suspect, suspect.evidence))
    named = {suspect.source for suspect in result.suspects}
    for cause in result.ruled_out:
        if cause.source in named:
            continue
        lines.append(_format_listed("Ruled out: ", cause, describe_ruled_out(cause.source)))
    return lines


def write_controls(causes: Iterable[Cause]) -> str:
    """The options that ask for those of these that no mode controls, each followed by a space."""
    return "".join(f"--control {id_} " for id_ in _list_asked(causes))


def describe_side_effects(causes: Iterable[Cause]) -> str:
    """What else these options change, in words that follow others; "" for nothing."""
    return "".join(f"; {said}" for id_ in _list_asked(causes) if (said := find_sources()[id_].side_effect))


def _list_asked(causes: Iterable[Cause]) -> list[str]:
    known = find_sources()
    asked = {
        cause.source
        for cause in causes
        if (source := known.get(cause.source)) is not None
        and source.controllable
        and not source.is_controlled_in("strict")
    }
    return sorted(asked)


def _format_title(cause: Cause, *, first: bool) -> Line:
    name = style_text(cause.source, "bold red")
    if cause.confirmed:
        who = "it and the others named here" if cause.together else "it"
        proof = f"confirmed: further runs with {who} controlled do not diverge there"
        if cause.replayed:
            proof = f"confirmed: a run that was given what run A had from {who} goes on as run A"
        if cause.unsettled:
            proof = f"confirmed: runs with {cause.unsettled} differ, and those left alone agree"
        return HangingLine(Text("Cause: ", style="bold"), name.append(f" ({proof})", "green"))
    word = "Likely cause: " if first else "Or: "
    return HangingLine(Text(word, style="bold"), name.append(" (not confirmed)", "yellow"))


def _format_cause(cause: Cause) -> list[Line]:
    where = f" ({cause.call_site})" if cause.call_site and cause.call_site not in cause.evidence else ""
    lines: list[Line] = [HangingLine(Text("  "), style_text(cause.evidence + where))]
    if cause.advice:
        lines.append(Text("  fix:", style="dim"))
        lines.extend(style_text(f"    {line}", "cyan") for line in cause.advice.splitlines())
    if page := find_page(cause.source):
        lines.append(style_text(f"  page: {page}", "dim"))
    return lines


def _format_listed(word: str, cause: Cause, text: str) -> Line:
    return HangingLine(
        Text(word, style="bold"),
        style_text(cause.source, "bold").append_text(style_text(f": {text}", "default")),
    )
