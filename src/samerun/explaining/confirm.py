"""Holds candidates against further runs: a source is the cause when controlling it removes the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from samerun.comparing.comparison import Comparison
from samerun.explaining.cause import Cause, Findings, make_cause
from samerun.explaining.delta_debugging import find_smallest
from samerun.explaining.explain import explain
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.schema import PHASES, takes_tasks
from samerun.sources.base.system_value import World
from samerun.sources.catalogue import find_sources, in_folder
from samerun.sources.evidence.rows import has_raced
from samerun.sources.source import Kind

# Records and compares that many further runs with these sources controlled.
Trial = Callable[[tuple[str, ...], int], Comparison]
Outcome = Literal["mended", "still", "unclear"]

MOST_CANDIDATES = 4
SURE = 6  # runs that must agree where nothing that was recorded points to a source
_POINTS = Strength.SLIGHT  # how strong evidence is that does
_FLOW = ("flow", "ended")


def find_position(difference: Difference) -> tuple[int, int]:
    """Where a difference stands in time: (step, phase in the order of a step)."""
    return _place(difference.step, difference.phase)


def _place(step: int, phase: str) -> tuple[int, int]:
    return step, PHASES.index(phase) if phase in PHASES else len(PHASES)


def is_not_after(found: Difference, other: Difference) -> bool:
    """Whether one difference is there, or shows, where another one is, or before that.

    An operation that makes a batch is a part of the forward pass for all that is known while it runs.
    """
    if find_position(found) <= find_position(other):
        return True
    return found.shows is not None and _place(*found.shows) <= find_position(other)


def is_race(differences: Sequence[Difference], evidence: Sequence[Evidence]) -> bool:
    """Whether runs diverge at another place each time, and it is open why.

    That is where something without a control may be the reason, or nothing that was recorded points to any.
    Runs that diverge later with something controlled prove nothing then: they may have been lucky.
    """
    unclear = is_free(evidence) or not any(map(points, evidence))
    return unclear and len(set(map(find_position, differences))) > 1


def must_agree(differences: Sequence[Difference], evidence: Sequence[Evidence]) -> bool:
    """Whether runs with something held must agree to their end, and parting later proves nothing.

    So where runs race, and where they draw another number of values first: one of a few sizes was chosen, and
    runs may well choose the same.
    """
    sized = (item.origin is not None and item.origin.draws_other_size for item in differences)
    return is_race(differences, evidence) or any(sized)


def is_free(evidence: Sequence[Evidence]) -> bool:
    """Whether something may be the reason that no control holds, and that no run can be given again."""
    known = find_sources()
    held = [(item.beyond_control, known.get(item.source)) for item in evidence]
    return any(
        beyond or (source is not None and not (source.controllable or source.can_replay()))
        for beyond, source in held
    )


def judge(comparison: Comparison, original: Difference, *, to_the_end: bool = False) -> Outcome:
    """What further runs with something controlled say about the original difference.

    With `to_the_end` they must agree; without, it is enough when they diverge later.
    """
    if comparison.verdict == "same":
        return "mended"
    if comparison.difference is None:
        return "unclear"
    return "mended" if not to_the_end and _is_later(comparison.difference, original) else "still"


def _is_later(found: Difference, original: Difference) -> bool:
    """Whether the runs diverge later now: in another step or phase, or at another record further on."""
    if original.kind in _FLOW and found.kind in _FLOW:
        return False  # how often a loop turns is another number each time: later says nothing
    from_outside = original.origin is not None and not original.origin.inputs_equal
    if from_outside and takes_tasks(found.process) and found.process.startswith(f"{original.process}."):
        return False  # what a worker of a pool makes came back to whoever gave it the task
    if find_position(found) != find_position(original) and not _is_evaluation_apart(found, original):
        if _is_of_a_batch(original, found):
            return found.place > original.place
        return find_position(found) > find_position(original)
    if found.process.startswith(f"{original.process}."):  # a process is compared before those that it starts
        return True
    return found.place > original.place and _record(found) != _record(original)


def _is_of_a_batch(original: Difference, found: Difference) -> bool:
    """Whether an operation shows where the other difference is, though its phase is a later one.

    What comes after a first call of a module, a transform say, is a part of the forward pass until there is a
    batch: another model may be made there.
    """
    if original.shows is None or found.process != original.process:
        return False
    return _place(*original.shows) <= find_position(found) < find_position(original)


def _is_evaluation_apart(found: Difference, original: Difference) -> bool:
    """Whether one of them is an evaluation of the same step: before the first step it precedes all of it."""
    return found.step == original.step and "evaluation" in (found.phase, original.phase)


def _record(difference: Difference) -> tuple[str | None, ...]:
    return difference.what, difference.name, difference.module, difference.call_site


def confirm(
    original: Difference,
    evidence: Sequence[Evidence],
    trial: Trial,
    controllable: Callable[[str], bool],
    *,
    to_the_end: bool = False,
    refuted_since: Callable[[Evidence], bool] = lambda item: False,
    already_refuted: Sequence[Evidence] = (),
    unseen: frozenset[str] = frozenset(),
) -> Findings:
    """Try the best candidates in turn, then all of them together; the first that fixes it is the cause.

    `already_refuted`: what failed alone before; it is tried again together with the candidates, but for the
    `unseen` (as in `Findings`).

    Evidence that is not seen directly must hold in three runs instead of two, since a difference that is
    not there every time can be absent by luck; next to none must hold in six, and so must what is not
    seen directly beside something without a control: what races may agree a few times. With `to_the_end`
    (as for `judge`) the trials are whole runs. `refuted_since`: whether trials so far refute what is no
    candidate. What not even the code shows a way for is not tried beside strong evidence of something that no
    run can hold.
    """

    def fixes(items: Sequence[Evidence], count: int) -> bool:
        comparison = trial(tuple(item.source for item in items), count)
        return judge(comparison, original, to_the_end=to_the_end) == "mended"

    candidates, weaker = _choose_candidates(evidence, controllable)
    refuted: list[Evidence] = [*already_refuted]
    parted: dict[str, Difference] = {}  # by what was controlled: where the runs parted all the same
    notes: list[str] = []
    for item in candidates:
        comparison = trial((item.source,), 2 if item.strength >= Strength.SEEN else 3)
        outcome = judge(comparison, original, to_the_end=to_the_end)
        rivals = [other for other in _list_rivals(evidence, item) if not refuted_since(other)]
        if outcome == "mended" and _is_doubtful(item, rivals, original) and not fixes([item], SURE):
            outcome = "still"
        if outcome == "mended":
            left = [other for other in evidence if other is item or not refuted_since(other)]
            return _make_findings([item], left, refuted, notes)
        if outcome == "still" and not item.in_library:
            refuted.append(item)
            if comparison.difference is not None:
                parted[item.source] = comparison.difference
        if outcome == "unclear":
            notes.append(f"{item.source} could not be tested: {comparison.reason}")
    together = _keep_shown([item for item in refuted if item.source not in unseen], parted)
    if len(refuted) > len(already_refuted) and (needed := _find_needed(together, fixes)):
        rest = [item for item in refuted if item not in needed]
        return _make_findings(needed, evidence, rest, notes)
    gone = [*refuted, *weaker]
    left = [item for item in evidence if item not in gone and not refuted_since(item)]
    found = list_unconfirmed(left, tuple(map(make_cause, refuted)), tuple(notes))
    alone = frozenset(item.source for item in refuted if item not in together)
    return replace(found, suspects=(*found.suspects, *map(make_cause, weaker)), unseen=alone)


def _choose_candidates(
    evidence: Sequence[Evidence], controllable: Callable[[str], bool]
) -> tuple[list[Evidence], list[Evidence]]:
    """Those to try, the likeliest first; and those too weak to be tried beside a race that was seen."""
    within_control = (item for item in evidence if not item.beyond_control)
    candidates = [item for item in within_control if controllable(item.source)]
    if is_free([item for item in evidence if item.strength >= Strength.STRONG]):
        # Beside what no run can hold, runs agree by luck; nothing even shows a way from these.
        candidates = [item for item in candidates if item.strength > Strength.REMOTE]
    candidates = candidates[:MOST_CANDIDATES]
    weaker: list[Evidence] = []
    if any(map(_is_seen_and_free, evidence)):  # what races may well agree with anything held
        weaker = [item for item in evidence if item.strength < Strength.SEEN]
        candidates = [item for item in candidates if item not in weaker]
    return candidates, weaker


def _is_doubtful(item: Evidence, rivals: Sequence[Evidence], original: Difference) -> bool:
    """Whether a few runs may have agreed by luck: nothing points to it, or something races, however faint."""
    raced = is_free(rivals) or has_raced(original)
    return not points(item) or (raced and not _is_seen_at_the_difference(item, original))


def _list_rivals(evidence: Sequence[Evidence], item: Evidence) -> list[Evidence]:
    """What else something points to; runs that begin with the same files hold all that is of files."""
    held = in_folder() if item.source in in_folder() else frozenset()
    return [other for other in evidence if points(other) and other.source not in held]


def _find_needed(
    together: Sequence[Evidence], fixes: Callable[[Sequence[Evidence], int], bool]
) -> Sequence[Evidence]:
    """Those that fix it together, each of which failed alone; best evidence first, so that it is kept."""
    if len(together) < 2 or not fixes(together, 2):
        return []
    needed = find_smallest(together, lambda part: fixes(part, 2), fail_alone=together)
    return needed if all(map(points, needed)) or fixes(needed, SURE) else []


def _keep_shown(refuted: Sequence[Evidence], parted: Mapping[str, Difference]) -> list[Evidence]:
    """Those that may explain a difference together.

    Not what is no longer seen once a better candidate is controlled, such as a clock that is read beside
    another seed: that seed was made of what the candidate gives. Runs may agree by luck with it controlled.
    """
    kept: list[Evidence] = []
    for item in refuted:
        left = (parted[better.source] for better in kept if better.source in parted)
        if all(_is_still_seen(item.source, difference) for difference in left):
            kept.append(item)
    return kept


def _is_still_seen(id_: str, difference: Difference) -> bool:
    source = find_sources().get(id_)
    return source is None or bool(explain(difference, [source])[0])


def _is_seen_at_the_difference(item: Evidence, original: Difference) -> bool:
    """Whether it was seen that this makes the difference: of a generator that it is what was drawn there.

    That other numbers were drawn from one earlier says little: a library may draw as it is imported. Nor does
    another seed, which the system's values are seen to make, of a generator that is drawn from elsewhere.
    """
    source, origin = find_sources().get(item.source), original.origin
    is_read = (source is not None and source.kind is Kind.RNG) or isinstance(source, World)
    return item.strength >= Strength.SEEN and (not is_read or (origin is not None and origin.draws))


def _is_seen_and_free(item: Evidence) -> bool:
    """Whether the reason was seen and no run can hold it: an order that nothing fixes, an address."""
    source = find_sources().get(item.source)
    if source is None or item.strength < Strength.SEEN:
        return False
    return (item.beyond_control and source.kind is Kind.ORDER) or (
        source.kind is Kind.MEMORY and is_free([item])
    )


def list_unconfirmed(
    evidence: Sequence[Evidence], ruled_out: tuple[Cause, ...] = (), notes: tuple[str, ...] = ()
) -> Findings:
    """Likely causes; what not even the user's code shows a way for is a suspect, and no likely cause.

    So is what was not seen, between runs of other code or of another command.
    """
    aside = _set_aside(evidence)
    likely = [item for item in evidence if item.strength > Strength.REMOTE and item not in aside]
    suspects = list_aside(evidence)
    suspects += [item for item in evidence if item.strength <= Strength.REMOTE]
    return Findings(tuple(map(make_cause, likely)), tuple(map(make_cause, suspects)), ruled_out, notes)


def list_aside(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Between runs of other code or of another command: what was not seen, but is plausible."""
    return [item for item in _set_aside(evidence) if item.strength >= Strength.PLAUSIBLE]


def _set_aside(evidence: Sequence[Evidence]) -> list[Evidence]:
    """What was neither seen nor is another thing in the two runs: the change explains a difference better."""
    if not any(item.of_other_program for item in evidence):
        return []
    unseen = (item for item in evidence if Strength.REMOTE < item.strength < Strength.SEEN)
    return [item for item in unseen if not _is_set_otherwise(item)]


def _is_set_otherwise(item: Evidence) -> bool:
    """Whether the records of two runs hold other values of it: packages, the machine, threads."""
    source = find_sources().get(item.source)
    kinds = (Kind.PROVENANCE, Kind.NUMERICS)
    return item.strength >= Strength.STRONG and source is not None and source.kind in kinds


def points(item: Evidence) -> bool:
    """Whether anything that was recorded points to a source: if not, it must hold in more runs."""
    return item.strength >= _POINTS


def _make_findings(
    causes: Sequence[Evidence],
    evidence: Sequence[Evidence],
    refuted: Sequence[Evidence],
    notes: Sequence[str],
) -> Findings:
    together = len(causes) > 1
    others = (item for item in evidence if item not in causes and item not in refuted)
    rest = [item for item in others if item.strength > Strength.REMOTE]  # nothing calls for the others now
    return Findings(
        tuple(make_cause(item, confirmed=True, together=together) for item in causes),
        tuple(_describe_not_needed(item, causes) for item in rest),
        tuple(map(make_cause, refuted)),
        tuple(notes),
    )


def _describe_not_needed(item: Evidence, causes: Sequence[Evidence]) -> Cause:
    names = " and ".join(cause.source for cause in causes)
    text = f"not the cause of this difference (controlling {names} removes it), but {item.text}"
    return make_cause(Evidence(item.source, item.strength, text, item.call_site, item.advice))
