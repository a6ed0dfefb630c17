"""`vary`: changes one source at a time, and reports which ones the result depends on."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare, compare_all
from samerun.errors import UsageError
from samerun.experiments import run_outcome, scope
from samerun.experiments.check.zoom import plan_closer_look
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.varied_runs import (
    BaseComparison,
    Change,
    VariedRuns,
    explain_misfit,
    hold,
    is_in_play,
)
from samerun.experiments.vary.magnitude import measure_size
from samerun.experiments.vary.result import Effect, VaryResult
from samerun.explaining.delta_debugging import find_smallest
from samerun.runs.difference import Difference
from samerun.runs.plan import Control, Plan
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind

_CHECKED = 3  # further runs: several changes together, and the command as it is once more


@dataclass(frozen=True)
class VaryRequest:
    """What `vary` is asked to try, and when to stop."""

    factors: tuple[str, ...] = ()  # ids of sources; (): every one that is no random number generator
    budget: float | None = None  # seconds
    first: bool = False  # stop at the first dependence


def vary(
    request: Request,
    asked: VaryRequest = VaryRequest(),
    runner: Runner | None = None,
) -> VaryResult:
    """Which sources the result of the request's command depends on.

    With no control in the request, the sources are left alone if two runs agree so, and controlled (mode
    strict) if not. Raises UsageError for a factor that is not in the catalogue or has nothing to vary, and
    KeyboardInterrupt after Ctrl-C.
    """
    _check(asked.factors)
    return _Varying(VariedRuns(request, runner or Runner()), asked).result()


def _check(factors: Sequence[str]) -> None:
    known = find_sources()
    for id_ in factors:
        if id_ not in known:
            raise UsageError(f"--factors {id_}: there is no such source; known: {', '.join(known)}")


def list_changes(settings: dict[str, dict[str, object]], factors: Collection[str] = ()) -> list[Change]:
    """What can be changed, the cheapest and most telling first."""
    found = [
        Change(source.id, variant)
        for source in find_sources().values()
        if (source.id in factors if factors else source.kind is not Kind.RNG)
        for variant in source.variants(settings)
    ]
    return sorted(found, key=lambda change: -change.variant.likely / change.variant.runs)


class _Varying:
    """One `vary` at work."""

    def __init__(self, varied: VariedRuns, asked: VaryRequest) -> None:
        self.varied = varied
        self.asked = asked
        self.started = time.monotonic()
        self.effects: list[Effect] = []
        self.untried: list[Change] = []
        self.notes: list[str] = []
        self._near: dict[tuple[int, int | None], Run] = {}  # runs left alone, at tier ops, by their steps

    def result(self) -> VaryResult:
        """Try everything that was asked for."""
        base = self._base()
        if isinstance(base, VaryResult):
            return base
        plan = self._plan(base)
        self.varied.announce(round(sum(change.variant.runs for change in plan)) + _CHECKED)
        dependent: set[str] = set()
        for change in plan:
            if self._out_of_time(base, change) or (self.asked.first and dependent):
                self.untried.append(change)
                continue
            effect = self._try(base, change)
            self.effects.append(effect)
            if effect.verdict == "differs":
                dependent.add(change.source)
        together = () if self.asked.first and dependent else self._together(base, plan)
        if dependent or together:
            self._check_base(base)
        return self._finished(base, together)

    # --- the runs that all others are held against ---------------------------------------------------

    def _base(self) -> Run | VaryResult:
        varied = self.varied
        runs = [varied.run("as it is"), varied.run("as it is")]
        found = self._judged(runs)
        if found.verdict == "differs" and varied.control is None:
            varied.control = Control()
            self.notes.append(
                "the command does not repeat by itself (samerun check says why), so every source is "
                "controlled, as with samerun run, except the one that is varied"
            )
            runs = [varied.run("controlled"), varied.run("controlled")]
            found = self._judged(runs)
        if found.verdict == "same":
            self._found = found
            return runs[0]
        if found.verdict == "differs":
            reason = "the command does not repeat even with every source controlled"
            return replace(found, verdict="unknown", reason=f"{reason}; samerun diagnose says why")
        return found

    def _judged(self, runs: Sequence[Run]) -> VaryResult:
        request = self.varied.request
        comparisons = compare_all(runs, steps=request.steps)
        result = VaryResult(
            "unknown",
            tuple(run.id for run in runs),
            hide_secrets(request.command),
            str(request.folder),
            None if self.varied.control is None else self.varied.control.mode,
            scope.count_steps(comparisons),
            scope.describe_scope(comparisons),
            notes=tuple(self.notes),
            place=str(request.store.runs),
        )
        if failure := run_outcome.explain_failure(runs, parted=False):
            return replace(result, reason=failure, output=run_outcome.read_last_lines(runs))
        comparison = comparisons[0]
        if comparison.verdict == "same" and result.steps == 0:
            return replace(result, reason="no optimizer step was recorded: there is no result to compare")
        return replace(result, verdict=comparison.verdict, reason=comparison.reason)

    def _check_base(self, base: Run) -> None:
        """That the command still gives what it gave at first: else the differences prove nothing."""
        again = self.varied.run("as it is, once more")
        held = hold(base, again, (), self.varied.request.steps)
        if held.difference is None and held.reason is None:
            return
        reason = "a further run with nothing varied differs from the first ones: the command does not repeat"
        self.notes.append(reason)
        self.effects = [
            replace(effect, verdict="unknown", reason=reason) if effect.verdict == "differs" else effect
            for effect in self.effects
        ]
        self._steady = False

    # --- one change at a time ------------------------------------------------------------------------

    def _plan(self, base: Run) -> list[Change]:
        settings = {id_: dict(said) for id_, said in base.manifest.settings.items()}
        plan = list_changes(settings, self.asked.factors)
        command = self.varied.request.command
        kept = [
            change
            for change in plan
            if change.variant.rewrite is None or change.variant.rewrite(command) != command
        ]
        idle = [id_ for id_ in self.asked.factors if id_ not in {change.source for change in kept}]
        if idle:
            self.notes.append(f"nothing to vary in this command or on this machine: {', '.join(idle)}")
        return kept

    def _out_of_time(self, base: Run, change: Change) -> bool:
        if self.asked.budget is None:
            return False
        spent = time.monotonic() - self.started
        return spent + base.duration_s * change.variant.runs > self.asked.budget

    def _try(self, base: Run, change: Change) -> Effect:
        label = f"{change.source}: {change.variant.label}"
        run = self.varied.run(label, [change])
        effect = Effect(
            *change.name,
            "unknown",
            (run.id,),
            in_play=is_in_play(run, change),
            weights_only=change.variant.compares == "weights",
        )
        held = hold(base, run, [change], self.varied.request.steps)
        if held.reason is None and (reason := explain_misfit(run, change)):
            held = BaseComparison(reason=reason)
        if held.reason is not None:
            return replace(effect, reason=held.reason)
        if held.difference is None:
            return self._equal(effect, change)
        effect = replace(effect, difference=held.difference, size=measure_size(base, run))
        return self._confirmed(base, run, change, effect)

    def _equal(self, effect: Effect, change: Change) -> Effect:
        if not effect.in_play and change.variant.acts:
            reason = "this variant did not apply: no module was called with a batch it could change"
            return replace(effect, reason=reason)
        return replace(effect, verdict="same")

    def _confirmed(self, base: Run, run: Run, change: Change, effect: Effect) -> Effect:
        """A dependence shows again: in the operation where it begins, or in another whole run."""
        label = f"{change.source}: {change.variant.label}, again"
        difference = effect.difference
        assert difference is not None
        if not effect.weights_only:
            near = plan_closer_look(difference)
            again = self.varied.run(label, [change], near)
            closer = compare(self._left_alone(difference, near), again).difference
            if closer is not None and closer.step <= difference.step:
                repeats = _is_alike(run, again, difference.step + 1)
                runs = (*effect.runs, again.id)
                return replace(effect, verdict="differs", difference=closer, repeats=repeats, runs=runs)
        again = self.varied.run(label, [change])
        held = hold(base, again, [change], self.varied.request.steps)
        effect = replace(effect, runs=(*effect.runs, again.id))
        if held.difference is not None:
            return replace(effect, verdict="differs", repeats=_is_alike(run, again, None))
        reason = "it differed once and not again: chance, not this source; samerun diagnose finds it"
        return replace(effect, reason=reason, difference=None)

    def _left_alone(self, difference: Difference, near: Plan) -> Run:
        """A run with nothing varied, at tier ops around a difference."""
        steps = difference.step, near.stop_after
        if steps not in self._near:
            stage = f"as it is, operation by operation at step {difference.step}"
            self._near[steps] = self.varied.run(stage, plan=near)
        return self._near[steps]

    # --- several at once -----------------------------------------------------------------------------

    def _together(self, base: Run, plan: Sequence[Change]) -> tuple[tuple[str, str], ...]:
        """The smallest set of changes, none of which does anything alone, that change the result."""
        harmless = {(effect.source, effect.variant) for effect in self.effects if effect.verdict == "same"}
        dependent = {effect.source for effect in self.effects if effect.verdict == "differs"}
        by_source: dict[str, Change] = {}
        for change in plan:
            if change.name in harmless and change.source not in dependent:
                by_source.setdefault(change.source, change)
        several = list(by_source.values())
        if len(several) < 2 or any(self._out_of_time(base, change) for change in several):
            return ()

        def does(some: list[Change]) -> bool:
            names = ", ".join(change.source for change in some)
            return all(self._differs(base, some, f"together: {names}") for _ in range(2))

        if not does(several):
            return ()
        found = find_smallest(several, does, several)
        return tuple(change.name for change in found)

    def _differs(self, base: Run, some: list[Change], stage: str) -> bool:
        run = self.varied.run(stage, some)
        held = hold(base, run, some, self.varied.request.steps)
        fits = all(explain_misfit(run, change) is None for change in some)
        return held.difference is not None and held.reason is None and fits

    # --- the end -------------------------------------------------------------------------------------

    _steady = True

    def _finished(self, base: Run, together: tuple[tuple[str, str], ...]) -> VaryResult:
        result = replace(
            self._found,
            notes=tuple(self.notes),
            effects=tuple(self.effects),
            together=together if self._steady else (),
            untried=tuple(change.name for change in self.untried),
        )
        if result.dependences() or result.together:
            return replace(result, verdict="differs")
        unknown = [effect for effect in self.effects if effect.verdict == "unknown"]
        if unknown:
            names = ", ".join(dict.fromkeys(effect.source for effect in unknown))
            return replace(result, verdict="unknown", reason=f"it is not known for {names}")
        if not self.effects:
            return replace(result, verdict="unknown", reason="nothing was varied")
        return replace(result, verdict="same")


def _is_alike(one: Run, other: Run, steps: int | None) -> bool | None:
    """Whether two runs agree in their first `steps` steps; None when that cannot be told."""
    comparison = compare(one, other, steps=steps)
    return {"same": True, "differs": False, "unknown": None}[comparison.verdict]
