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
from samerun.experiments.verify.held import Held
from samerun.experiments.verify.request import VerifyRequest
from samerun.experiments.verify.result import VerifyResult
from samerun.explaining.confirm import confirm
from samerun.explaining.delta_debugging import find_smallest
from samerun.explaining.explain import list_suspects
from samerun.explaining.explained import Explained
from samerun.runs.plan import Plan
from samerun.sources.catalogue import find_sources


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
        asked, changed = suspicion.asked, suspicion.result.changed
        self._code = find_locked_code(asked.lock, asked.request.folder, changed)
        self._variables = suspicion.held.environment.variables

    def confirm(self) -> VerifyResult:
        """The result, with the changes that were put back and brought the locked bits back."""
        result = self._suspicion.result
        back = self._code or {}  # not new files: the locked code does not use them
        code = [item for item in result.changed if item.kind == "code" and item.name in back]
        others = [
            item for item in result.changed if item.kind == "variable" and may_set(item.name, self._variables)
        ]
        notes = result.notes
        if self._code is None:
            untried = "whether the code that changed is the reason was not tried"
            notes = (*notes, f"{untried}: git does not have it as it was locked")
        if not code and not others:
            return replace(result, notes=notes)
        needed: Sequence[Changed] = []
        if code and self._gives_locked_bits(code):
            needed = code
        elif others and self._gives_locked_bits([*code, *others]):
            needed = find_smallest(others, lambda part: self._gives_locked_bits([*code, *part]))
            needed = needed if not code or self._gives_locked_bits(needed) else [*code, *needed]
        if not needed:
            put_back = " and ".join(_name([*code, *others]))
            notes = (*notes, f"with {put_back} as locked, the bits are not the locked ones either")
        found = (replace(item, confirmed=item in needed) for item in result.changed)
        return replace(result, changed=tuple(found), notes=notes)

    def _gives_locked_bits(self, changes: Sequence[Changed]) -> bool:
        suspicion = self._suspicion
        request = suspicion.asked.request
        variables = [item.name for item in changes if item.kind == "variable"]
        code = self._code if any(item.kind == "code" for item in changes) else None
        with contextlib.ExitStack() as stack:
            at = request.workspace
            if code:
                copy = stack.enter_context(make_locked_copy(request.folder, code))
                if copy is None:
                    return False
                at = at.within(copy)
            stack.enter_context(set_as_locked(self._variables, variables))
            stage = f"running with {' and '.join(_name(changes))} as locked"
            (run,) = self._trials.record(stage, 1, suspicion.plan, at)
        if run_outcome.explain_failure([run], parted=False) is not None:
            return False
        observed = observe(run, suspicion.limit, suspicion.asked.lock.left_out)
        return not suspicion.held.find_moved(observed, suspicion.compared_below)


def _name(changes: Sequence[Changed]) -> list[str]:
    names = [item.name for item in changes if item.kind == "variable"]
    return ["code", *names] if any(item.kind == "code" for item in changes) else names


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
