"""Why a run is not the locked one: further runs with what changed put back, or given what that one had."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from samerun.comparing.comparison import Comparison
from samerun.experiments import run_outcome
from samerun.experiments.check.check import explain_parted
from samerun.experiments.lock.observed import Observed, observe
from samerun.experiments.replayed import Recorded
from samerun.experiments.trials import Trials
from samerun.experiments.verify.as_locked import (
    find_locked_code,
    make_locked_copy,
    may_set,
    set_as_locked,
)
from samerun.experiments.verify.changed import Changed
from samerun.experiments.verify.code_places import Place, describe_places, list_places, put_back
from samerun.experiments.verify.held import Held
from samerun.experiments.verify.request import VerifyRequest
from samerun.experiments.verify.result import VerifyResult
from samerun.explaining.confirm import confirm
from samerun.explaining.delta_debugging import find_smallest
from samerun.explaining.explain import list_suspects
from samerun.explaining.explained import Explained
from samerun.runs.plan import Plan
from samerun.sources.catalogue import find_sources

_MOST_RUNS = 24  # to find which of the places that changed it is, beyond that it is one of them
_Part = Place | str  # that is put back; a variable by its name


@dataclass(frozen=True)
class Suspicion:
    """A run that is not the locked one, and what is known of it without a further run."""

    asked: VerifyRequest
    result: VerifyResult
    observed: Observed
    held: Held

    @property
    def limit(self) -> int | None:
        """How many steps a run needs to show the difference; None: all, or as many as were asked for."""
        first, asked = self.result.moved[0] if self.result.moved else None, self.asked.request.steps
        if first is None or first.step is None or first.step + 2 > (asked or self.observed.steps):
            return asked
        return first.step + 2  # what comes between two steps is whole once the next step is

    @property
    def plan(self) -> Plan:
        """That of a run which shows the difference."""
        return Plan(control=self.asked.request.control, stop_after=None if not self.limit else self.limit - 1)

    @property
    def compared_below(self) -> int | None:
        """The steps that decide: without the last one of a run that is stopped for this alone."""
        limit = self.limit
        return limit if limit is None or limit == self.asked.limit else limit - 1


def confirm_difference(suspicion: Suspicion, trials: Trials) -> VerifyResult:
    """The result with what further runs confirm.

    First whether this training repeats here at all. If it does, code, then variables are put back as they
    were locked; where that does not bring the locked bits back, what the locked run had from its sources is
    given again.
    """
    result = suspicion.result
    (again,) = trials.record("recording again: does it repeat?", 1, suspicion.plan)
    unsteady = explain_parted(trials, [suspicion.observed.run, again], suspicion.compared_below)
    if unsteady is not None:
        return replace(result, unsteady=unsteady)
    if reason := run_outcome.explain_failure([again], parted=False):
        return replace(
            result, notes=(*result.notes, f"no cause was confirmed: a second run failed ({reason})")
        )
    result = _PutBack(suspicion, trials).confirm()
    if any(item.confirmed for item in result.changed):
        return result
    return _replay(suspicion, result, trials)


class _PutBack:
    """Runs with code and variables as they were locked."""

    def __init__(self, suspicion: Suspicion, trials: Trials) -> None:
        self._suspicion = suspicion
        self._trials = trials
        self._folder = suspicion.asked.request.folder
        # Not new files: the locked code does not use them.
        self._code, self._lacking = find_locked_code(
            suspicion.asked.lock, self._folder, suspicion.result.changed
        )
        self._places = list_places(self._folder, self._code)
        self._variables = suspicion.held.environment.variables
        self._without_effect: set[str] = set()  # what was put back, and not one bit was another
        self._left = _MOST_RUNS
        self._failure: str | None = None  # of the last run: why it has no bits to compare

    def confirm(self) -> VerifyResult:
        """The result, with the changes that were put back and brought the locked bits back."""
        result = self._suspicion.result
        notes = result.notes
        if self._lacking:
            more = f" and {len(self._lacking) - 1} more" if self._lacking[1:] else ""
            untried = f"whether {self._lacking[0]}{more} is the reason was not tried"
            notes = (*notes, f"{untried}: git does not have it as it was locked")
        code: list[_Part] = [*self._places]
        others: list[_Part] = [
            item.name
            for item in result.changed
            if item.kind == "variable" and may_set(item.name, self._variables)
        ]
        if not code and not others:
            return replace(result, notes=notes)
        needed = self._find_needed(code, others)
        if not needed:
            tried = " and ".join(_name([*code, *others]))
            said = f"with {tried} as locked, the bits are not the locked ones either"
            if self._failure is not None:
                unknown = f"whether {tried} is the reason is not known"
                said = f"{unknown}: with it as locked, the run failed ({self._failure})"
            notes = (*notes, said)
        if self._left < 0:
            notes = (
                *notes,
                f"fewer of these changes may be enough: the search ended at {_MOST_RUNS} runs",
            )
        found = tuple(self._mark(item, needed) for item in result.changed)
        return replace(result, changed=found, notes=notes)

    def _find_needed(self, code: list[_Part], others: list[_Part]) -> list[_Part]:
        """The smallest part of them that brings the locked bits back; () where all together do not."""
        if code and self._gives_locked_bits(code):
            return find_smallest(code, self._try)
        if not others or not self._gives_locked_bits([*code, *others]):
            return []
        needed = find_smallest(others, lambda part: self._try([*code, *part]))
        if not code or self._try(needed):
            return needed
        return [*find_smallest(code, lambda part: self._try([*part, *needed])), *needed]

    def _mark(self, item: Changed, needed: Sequence[_Part]) -> Changed:
        if item.kind == "variable" and item.name in needed:
            return replace(item, confirmed=True)
        mine = [part for part in needed if isinstance(part, Place) and part.file == item.name]
        if item.kind == "code" and mine:
            item = replace(item, confirmed=True, places=len(mine))
            line = describe_places(self._folder, self._code, mine)
            site, _, text = (line or "").partition(": ")
            return item if line is None else replace(item, call_site=site, text=text)
        known = item.kind in ("code", "variable") and item.name in self._without_effect
        return replace(item, ruled_out=known)

    def _try(self, parts: list[_Part]) -> bool:
        """Whether they bring the locked bits back; False, too, once so many runs were made for it."""
        self._left -= 1
        return self._left >= 0 and self._gives_locked_bits(parts)

    def _gives_locked_bits(self, parts: Sequence[_Part]) -> bool:
        suspicion = self._suspicion
        request = suspicion.asked.request
        variables = [part for part in parts if isinstance(part, str)]
        places = [part for part in parts if isinstance(part, Place)]
        with contextlib.ExitStack() as stack:
            at = request.workspace
            if places:
                files = put_back(request.folder, self._code, places)
                copy = stack.enter_context(make_locked_copy(request.folder, files, request.command))
                if copy is None:
                    return False
                at = at.within(copy)
            stack.enter_context(set_as_locked(self._variables, variables))
            part = f" in {len(places)} of the changes" if places and self._left < _MOST_RUNS else ""
            stage = f"running with {' and '.join(_name(parts))} as locked{part}"
            (run,) = self._trials.record(stage, 1, suspicion.plan, at)
        self._failure = None if run.outcome in run_outcome.WHOLE else run_outcome.describe_end(run)
        if self._failure is not None:
            return False
        observed = observe(run, suspicion.limit, suspicion.asked.lock.left_out)
        if not suspicion.held.find_moved(observed, suspicion.compared_below):
            return True
        now = observe(suspicion.observed.run, suspicion.limit, suspicion.asked.lock.left_out)
        if observed.roots == now.roots:
            left = {
                place.file for place in self._places if place not in places
            }  # that are not put back whole
            self._without_effect.update(variables, {place.file for place in places} - left)
        return False


def _name(parts: Sequence[_Part]) -> list[str]:
    names = [part for part in parts if isinstance(part, str)]
    return ["code", *names] if any(isinstance(part, Place) for part in parts) else names


def _replay(suspicion: Suspicion, result: VerifyResult, trials: Trials) -> VerifyResult:
    """With the sources that, given again as the locked run had them, make a run go on as that one did."""
    locked, plan = suspicion.held.run, suspicion.plan
    compared = result.compared
    if locked is None or compared is None or compared.difference is None:
        return result
    recorded = Recorded(locked, plan)
    control = plan.control

    def can_tell(source: str) -> bool:
        known = find_sources().get(source)
        return known is not None and not known.is_controlled_by(control) and recorded.can_give((source,))

    def trial(sources: tuple[str, ...], count: int) -> Comparison:
        stage = f"replaying {' + '.join(sources)} of the locked run"
        return recorded.repeat(trials, stage, sources, max(count - 1, 1))

    findings = confirm(compared.difference, Explained(compared.difference).evidence, trial, can_tell)
    causes = tuple(replace(cause, replayed=cause.confirmed) for cause in findings.causes)
    known = {cause.source for cause in (*causes, *findings.suspects)}
    found = replace(
        compared,
        causes=causes,
        suspects=(*findings.suspects, *list_suspects(compared.difference, known)),
        ruled_out=findings.ruled_out,
        notes=tuple(dict.fromkeys((*compared.notes, *findings.notes))),
    )
    return replace(result, compared=found)
