"""Follows the values of the user's variables to where a difference begins, where no cause is proved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from samerun.comparing.compare_runs import compare_all, find_earliest
from samerun.comparing.lines.differences import find_differences
from samerun.comparing.lines.given import find_given
from samerun.comparing.lines.origins import find_beginnings, find_origins
from samerun.comparing.lines.reading import read_processes, remove_files
from samerun.experiments.check.confirm import Proof, confirm_found
from samerun.experiments.check.zoom import Zoom
from samerun.experiments.trials import Trials
from samerun.experiments.what_counts import weigh
from samerun.explaining.cause import Cause, Findings, make_cause
from samerun.explaining.confirm import SURE, is_free, points
from samerun.explaining.followed import Followed, explain_origins, list_sources_of
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control, Given, Plan, Replay
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.evidence.rows import has_changed_file
from samerun.sources.input_data import InputData
from samerun.sources.source import Kind

_MOST_RUNS = 3  # chance can make the first two agree
_LONGER = 4  # times as many steps, where the first two did


class _Seen(NamedTuple):
    """Two runs that were followed, and what they say."""

    plan: Plan
    run: Run  # the first of them
    given: tuple[Given, ...]  # what another run needs to go on as that one; () where it is not numbers
    followed: Followed
    aside: tuple[Evidence, ...] = ()  # of other values that differ, where none is known to lead there


def follow_values(
    trials: Trials,
    closer: Zoom,
    findings: Findings,
    control: Control | None,
    at: Workspace | None = None,
    proof: Proof | None = None,
) -> Findings:
    """The findings, with the lines where values first differ that the runs' difference comes from.

    They come first, but after what was seen directly. A cause that is confirmed stays, and gets a line where
    it has none, or one that was guessed. Where the values are numbers, a run that is given those of run A,
    and goes on as run A, proves the line; else, with a `proof`, runs that are given what the source of that
    line gave.
    """
    confirmed = any(cause.confirmed for cause in findings.causes)
    was_seen = not confirmed and _is_seen(closer.explained.best)
    guessed = {item.source for item in closer.explained.evidence if item.strength <= Strength.REMOTE}
    known = all(cause.call_site and cause.source not in guessed for cause in findings.causes)
    if (confirmed or was_seen) and findings.causes and known:
        return findings
    seen = _follow(trials, closer, _hold(Plan(control=control), proof), _place(trials, at, proof))
    if seen is None:
        return findings
    if seen.aside and proof is not None and not confirmed and not was_seen:
        return _confirm_aside(closer, findings, seen.aside, proof)
    evidence, notes, plain = seen.followed
    if confirmed:
        return replace(findings, causes=_add_lines(findings.causes, evidence, guessed))
    ruled_out = {cause.source for cause in findings.ruled_out}
    if not has_changed_file(closer.difference):
        ruled_out.add(InputData.id)  # other bytes of equal files: something chose another file, or place
    found = [item for item in evidence if item.source not in ruled_out]
    found = [item for item in found if not _is_known_better(item, closer.explained.evidence)]
    found = [_take_advice(item, closer.explained.evidence) for item in found]
    if was_seen:
        return _replace_causes(findings, _put_seen_first(findings.causes, found), findings.suspects, notes)
    runs = SURE - 1 if is_free(closer.explained.evidence) else 1  # what races may agree by luck
    proved = bool(seen.given) and _goes_on_alike(trials, seen, runs, at)
    if proved:
        notes += (_describe_proof(seen, runs),)
    causes = _put_found_first(findings.causes, found)
    suspects = findings.suspects
    # Of several values that were given together, some may have no part in it.
    if proved and plain and len(seen.given) == 1 and len(found) == len(evidence):
        causes = tuple(
            replace(cause, confirmed=True, replayed=True)
            for cause in causes
            if cause.source == found[0].source
        )
    elif proof is not None:
        causes, others = _try_found(closer, causes, found, proof)
        suspects = others + suspects
    return _replace_causes(findings, causes, suspects, notes)


def _replace_causes(
    findings: Findings, causes: tuple[Cause, ...], suspects: tuple[Cause, ...], notes: tuple[str, ...]
) -> Findings:
    """The findings with these causes, none of which is a suspect as well."""
    named = {cause.source for cause in causes}
    suspects = tuple(each for each in suspects if each.source not in named)
    return replace(findings, causes=causes, suspects=suspects, notes=findings.notes + notes)


def _try_found(
    closer: Zoom, causes: tuple[Cause, ...], found: Sequence[Evidence], proof: Proof
) -> tuple[tuple[Cause, ...], tuple[Cause, ...]]:
    """What runs confirm, and the others; where they confirm none, what they do not refute comes first."""
    shown, refuted = confirm_found(closer.explained, found, proof)
    if not shown:
        return tuple(sorted(causes, key=lambda cause: cause.source in refuted)), ()
    confirmed = {each.source for each in shown}
    return shown, tuple(cause for cause in causes if cause.source not in confirmed)


def _confirm_aside(closer: Zoom, findings: Findings, aside: Sequence[Evidence], proof: Proof) -> Findings:
    """Values can go through an object that is not followed, an optimizer's settings, say: runs must tell."""
    tried = {cause.source for cause in (*findings.causes, *findings.ruled_out)}
    shown, _ = confirm_found(closer.explained, [item for item in aside if item.source not in tried], proof)
    if not shown:
        return findings
    named = {cause.source for cause in shown}
    rest = tuple(each for each in (*findings.causes, *findings.suspects) if each.source not in named)
    return replace(findings, causes=shown, suspects=rest)


def _is_seen(best: Evidence | None) -> bool:
    """Whether the reason was seen, or is one that nothing holds: a timer that the script sets, say."""
    return best is not None and (best.strength >= Strength.SEEN or best.beyond_control)


def _describe_proof(seen: _Seen, runs: int) -> str:
    lines = " and ".join(f"`{given.name}` at {given.file}:{given.line}" for given in seen.given)
    which = "a run" if runs == 1 else f"{runs} runs"
    return f"{which} in which {lines} got the values of run A went on as run A, bit for bit"


def _goes_on_alike(trials: Trials, seen: _Seen, runs: int, at: Workspace | None) -> bool:
    """Whether so many runs that are given the first run's values are that run again.

    In a copy of the folder: given a time or a number of that run, they would write the files that it wrote.
    """
    plan = replace(seen.plan, given=seen.given)
    at = at or trials.request.workspace
    if at.copy is None:
        at = replace(at, fresh=True)
    for _ in range(runs):
        (run,) = trials.record("giving a run the values of the first", 1, plan, at)
        remove_files(run.path)
        pair = [seen.run, run]
        if trials.judge(pair, weigh(pair, compare_all(pair))).verdict != "same":
            return False
    return True


def _is_known_better(item: Evidence, recorded: Sequence[Evidence]) -> bool:
    """Whether it is known who fills what a line takes from: the call alone says only that somebody does."""
    sources = find_sources()
    return sources[item.source].kind is Kind.ORDER and any(
        other.call_site == item.call_site
        and other.source != item.source
        and points(other)
        and sources[other.source].kind is Kind.ORDER
        for other in recorded
    )


def _take_advice(item: Evidence, recorded: Sequence[Evidence]) -> Evidence:
    """With the advice of what was recorded of that source at that line: it knows what was called."""
    known = (other for other in recorded if (other.source, other.call_site) == (item.source, item.call_site))
    advice = item.advice or next((other.advice for other in known if other.advice), None)
    return replace(item, advice=advice)


def _put_found_first(causes: tuple[Cause, ...], found: list[Evidence]) -> tuple[Cause, ...]:
    first = {item.source: make_cause(item) for item in reversed(found)}
    made = [first[source] for source in dict.fromkeys(item.source for item in found)]
    return (*made, *(cause for cause in causes if cause.source not in first))


def _put_seen_first(causes: tuple[Cause, ...], found: list[Evidence]) -> tuple[Cause, ...]:
    """Those of the findings, at the line that was found where they have none."""
    known = _add_lines(causes, found)
    more = _put_found_first((), [item for item in found if item.source not in {c.source for c in causes}])
    return (*known, *more)


def _add_lines(
    causes: Sequence[Cause], found: Sequence[Evidence], guessed: Collection[str] = ()
) -> tuple[Cause, ...]:
    """The causes, each at the line that was found of its source where it has none, or guessed at one."""
    first = {item.source: item for item in reversed(found)}

    def add(cause: Cause) -> Cause:
        item = first.get(cause.source)
        if item is None or (cause.call_site and cause.source not in guessed):
            return cause
        text = item.text if cause.call_site else cause.evidence
        return replace(cause, call_site=item.call_site, evidence=text)

    return tuple(map(add, causes))


def _hold(plan: Plan, proof: Proof | None) -> Plan:
    """The plan of runs that are given what the proof holds, which is not behind the difference."""
    if proof is None or proof.recorded is None or not proof.held:
        return plan
    return replace(plan, replay=Replay(str(proof.recorded.run.path.resolve()), tuple(sorted(proof.held))))


def _place(trials: Trials, at: Workspace | None, proof: Proof | None) -> Workspace | None:
    """Where they run: in a copy, as what they are given may name the files that they write."""
    if at is None and proof is not None and proof.held:
        return replace(trials.request.workspace, fresh=True)
    return at


def _follow(trials: Trials, closer: Zoom, plan: Plan, at: Workspace | None) -> _Seen | None:
    """Two runs that differ, followed; None where they agree each time, or nothing can be followed.

    Following slows a run, and what a race decides comes later then: two more runs go on for longer.
    """
    plan = replace(plan, lines=True, stop_after=closer.stop_after)
    seen = _follow_until(trials, plan, 2 if plan.stop_after else _MOST_RUNS, at)
    if seen is None and plan.stop_after:
        seen = _follow_until(trials, replace(plan, stop_after=plan.stop_after * _LONGER), 2, at)
    return seen


def _follow_until(trials: Trials, plan: Plan, most: int, at: Workspace | None) -> _Seen | None:
    """Two of at most so many runs, the first and one that differs from it."""
    runs: list[Run] = []
    try:
        while len(runs) < most:
            runs += trials.record("following the values of variables", 1 if runs else 2, plan, at)
            comparisons = weigh(runs, compare_all(runs))
            parted = find_earliest(comparisons)
            difference = None if parted is None else comparisons[parted].difference
            if parted is not None and difference is not None:
                return _read(trials, plan, (runs[0], runs[parted + 1]), difference)
    except (OSError, msgspec.MsgspecError):
        pass  # the files of these runs cannot be read
    finally:
        for run in runs:
            remove_files(run.path)
    return None


def _read(trials: Trials, plan: Plan, pair: tuple[Run, Run], difference: Difference) -> _Seen:
    mine, other = (read_processes(run.path) for run in pair)
    nodes = find_differences(mine, other)
    origins, folder = find_origins(nodes, difference), str(trials.request.folder)
    followed = explain_origins(origins, folder)
    aside = () if origins else list_sources_of(find_beginnings(nodes), folder)
    return _Seen(plan, pair[0], find_given(origins, nodes, mine), followed, aside)
