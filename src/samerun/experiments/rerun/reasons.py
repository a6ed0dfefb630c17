"""Why a rerun is not the recorded run again: what changed outside, and what was not given again."""

from __future__ import annotations

from samerun.comparing.pairing import RecordedRun
from samerun.comparing.uncontrolled import list_uncontrolled
from samerun.experiments.check.result import CheckResult
from samerun.experiments.rerun.result import Parting, Unreplayed
from samerun.explaining.cause import Cause
from samerun.runs.answers import read_all_answers
from samerun.runs.plan import Replay
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.input_data import InputData
from samerun.sources.resume_state import ResumeState
from samerun.sources.source import Kind

_ENDED = "ended"
_FILES = (InputData.id, ResumeState.id)


def list_given(run: Run) -> tuple[str, ...]:
    """The sources that gave a run what they gave the recorded one."""
    return tuple(sorted({answer.source for answer in read_all_answers(run.path) if answer.what == "given"}))


def find_changed(compared: CheckResult) -> tuple[Cause, ...]:
    """What of `diff`'s causes is of code, data, packages, hardware, environment.

    Files that were left count where nothing explains the difference better: a temporary file has another
    name in each run.
    """
    best = compared.causes[:1]
    found = (cause for cause in compared.causes if _is_outside(cause.source))
    return tuple(cause for cause in found if cause.source != ResumeState.id or cause in best)


def list_parted(recorded: Run, run: Run, replay: Replay) -> tuple[Parting, ...]:
    """Where `run` was not given what the recorded one had, and which sources that one stopped keeping."""
    found = [
        Parting(answer.source, answer.name, answer.site or None, str(answer.value))
        for answer in read_all_answers(run.path)
        if answer.what == "parted"
    ]
    named = {item.source for item in found}
    found += [
        Parting(answer.source, answer.name, None, str(answer.value))
        for answer in read_all_answers(recorded.path)
        if answer.what == _ENDED and answer.source not in named and replay.holds(answer.source)
    ]
    return tuple(dict.fromkeys(found))


def list_unreplayed(
    recorded: Run, run: RecordedRun, compared: CheckResult, replay: Replay
) -> tuple[Unreplayed, ...]:
    """Sources that `run` used, or that explain its difference best, of which nothing was given or reported.

    Other causes are named where they were left out: without a proof the rest is less than likely.
    """
    known = find_sources()
    uses = {used.source: used.uses for used in list_uncontrolled(run)}
    inside = [item for item in compared.causes if item.source in known and not _is_outside(item.source)]
    for cause in [item for item in inside if not _is_derived(item.source)]:
        if cause is inside[0] or not replay.holds(cause.source):
            uses.setdefault(cause.source, ((cause.evidence, cause.call_site),))
    reported = {
        answer.source for answer in read_all_answers(run.run.path) if answer.what in ("given", "parted")
    }
    kept = {answer.source for answer in read_all_answers(recorded.path) if answer.what == "kept"}
    return tuple(
        Unreplayed(source, places, _explain_unreplayed(source, source in kept, replay))
        for source, places in uses.items()
        if source not in reported
    )


def _explain_unreplayed(source: str, was_kept: bool, replay: Replay) -> str:
    if not find_sources()[source].can_replay():
        return "it cannot be replayed"
    if not replay.holds(source):
        return "left out by --only or --except"
    return "the program did not ask for it" if was_kept else "the recorded run kept nothing of it"


def _is_outside(source: str) -> bool:
    known = find_sources().get(source)
    return known is not None and (known.kind is Kind.PROVENANCE or source in _FILES)


def _is_derived(source: str) -> bool:
    """Whether it draws from the generators of other sources: these are replayed, or named themselves."""
    known = find_sources()[source]
    return known.kind is Kind.RNG and not known.can_replay()
