"""`cost`: what each control and each mode costs, and the cheapest way to run that still repeats."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare_all
from samerun.errors import RunError
from samerun.experiments import run_outcome, scope
from samerun.experiments.check.result import Verdict
from samerun.experiments.cost.configurations import NOTHING, Setup, list_setups
from samerun.experiments.cost.interleave import run_in_turns
from samerun.experiments.cost.pricing import Ratio, are_known, average_pairs, compare_pair
from samerun.experiments.cost.result import Choice, CostResult, Price
from samerun.experiments.cost.timed_run import TimedRun
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.explaining.delta_debugging import find_smallest
from samerun.launching.launch import LaunchRequest
from samerun.launching.why_unrecorded import without_torch
from samerun.recording.steps.step_timer import step_seconds
from samerun.runs.plan import Control, Plan
from samerun.runs.recorder_errors import explain_broken
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources
from samerun.sources.threads import Threads

_RUNS = 3  # that must agree for a configuration to be called repeatable
_LEAST_ROUNDS = 3
_SEARCHED = 3  # configurations that are tried for whether they repeat, where few have to be


@dataclass(frozen=True)
class Rounds:
    """How long `cost` measures: in each round every way to run the command is run once, in random order."""

    count: int = 5
    budget: float | None = None  # seconds; no further round begins that would not fit
    search: bool = True  # look for the cheapest configuration that repeats


def cost(
    request: Request,
    rounds: Rounds = Rounds(),
    runner: Runner | None = None,
    ways: Sequence[Setup] | None = None,
) -> CostResult:
    """The price of each control and mode for the request's command.

    Raises KeyboardInterrupt after Ctrl-C, and what `launching.run.record` raises when the command
    cannot be started.
    """
    return _Costing(request, rounds, runner or Runner(), ways).result()


class _Costing:
    """One `cost` at work."""

    def __init__(
        self,
        request: Request,
        rounds: Rounds,
        runner: Runner,
        ways: Sequence[Setup] | None,
    ) -> None:
        self.request = request
        self.rounds = rounds
        self.started = time.monotonic()
        self.notes: list[str] = []
        self._runner = runner
        self._listener = runner.listener
        self._ways = ways
        self._failed: dict[str, str] = {}

    def result(self) -> CostResult:
        """Measure, then search."""
        request = self.request
        first = self._run(replace(NOTHING, tier="steps"), "once, to see what it uses")
        result = CostResult("unknown", hide_secrets(request.command), place=str(request.store.runs))
        if failure := run_outcome.explain_failure([first], parted=False):
            return replace(result, reason=failure, output=run_outcome.read_last_lines([first]))
        if not first.steps and (why := explain_broken(first.path) or without_torch(first.path)):
            return replace(result, reason=why)
        seed = 0 if request.control is None else request.control.seed
        ways = list(self._ways if self._ways is not None else list_setups(first.manifest.settings, seed))
        self._listener.ahead(
            2 * len(ways) * self.rounds.count + (_RUNS * _SEARCHED if self.rounds.search else 0)
        )
        for measured in self._measure(result, ways):
            self._listener.so_far(measured)
            result = measured
        if result.seconds is None:
            self.notes.append("the command makes fewer than three optimizer steps: there is nothing to time")
        if self.rounds.search:
            result = self._choose(result, seed, first)
        return replace(result, notes=tuple(self.notes))

    # --- prices --------------------------------------------------------------------------------------

    def _measure(self, result: CostResult, ways: Sequence[Setup]) -> Iterator[CostResult]:
        """The result after each round: in one, each way to run is timed beside the command left alone."""
        measured = _Measured()
        order = random.Random(0)
        for number in range(1, self.rounds.count + 1):
            began = time.monotonic()
            mixed = [way for way in ways if way.name not in self._failed]
            order.shuffle(mixed)
            for way in mixed:
                self._listener.stage(f"round {number} of {self.rounds.count}")
                self._listener.run_started(mixed.index(way) + 1, len(mixed), self.request.steps)
                try:
                    alone, run = run_in_turns([self._timed(NOTHING), self._timed(way)], order)
                except RunError as error:
                    self._failed[way.name] = str(error)
                    continue
                self._tell_ended(way, alone, run)
                if "interrupted" in (alone.outcome, run.outcome):
                    raise KeyboardInterrupt
                if run.outcome not in run_outcome.WHOLE:
                    self._failed[way.name] = f"the command fails with it: {run_outcome.describe_end(run)}"
                else:
                    measured.add(way.name, step_seconds(run.path), step_seconds(alone.path))
            yield replace(
                result,
                rounds=number,
                prices=tuple(self._price(way, measured) for way in ways),
                seconds=_compute_median(measured.alone),
            )
            spent, round_s = time.monotonic() - self.started, time.monotonic() - began
            budget = self.rounds.budget
            late = budget is not None and spent + round_s > budget
            if late and number < min(_LEAST_ROUNDS, self.rounds.count):
                rounds = f"{number} round{'s' if number > 1 else ''}"
                self.notes.append(f"the budget of {budget:.0f} s ended after {rounds}: prices are rough")
            if late or (number >= _LEAST_ROUNDS and are_known(list(measured.ratios.values()))):
                break

    def _tell_ended(self, way: Setup, alone: Run, run: Run) -> None:
        """Both runs; at tier none only their clocks know how many steps they made."""
        self._listener.run_ended(alone.id, len(step_seconds(alone.path)) + 1, NOTHING.name, alone.duration_s)
        ratio = compare_pair(step_seconds(run.path), step_seconds(alone.path))
        said = run.outcome if ratio is None else f"a step takes ×{ratio:.2f}"
        self._listener.run_ended(
            run.id, len(step_seconds(run.path)) + 1, f"{way.name}, {said}", run.duration_s
        )

    def _price(self, way: Setup, measured: _Measured) -> Price:
        pairs = measured.ratios.get(way.name, [])
        reason = self._failed.get(way.name)
        return Price(
            way.name, way.what, None if reason else average_pairs(pairs), tuple(pairs), reason=reason
        )

    def _timed(self, way: Setup) -> TimedRun:
        return TimedRun(*self._prepare(way), self.request.workspace)

    # --- the cheapest that repeats -------------------------------------------------------------------

    def _choose(self, result: CostResult, seed: int, first: Run) -> CostResult:
        fast = self._repeats(None, "left alone")
        prices = {price.name: price.steps for price in result.prices}
        choices = [Choice("fast", "the command left alone", fast, _RUNS, Ratio(1.0, 1.0, 1.0))]
        strict = Control("strict", seed)
        repeatable = self._repeats(strict, "mode strict")
        choices.append(Choice("repeatable", "samerun run", repeatable, _RUNS, prices.get("strict")))
        bought = {"strict": _describe_verdicts(fast, repeatable)}
        if fast == "same":
            cheapest = Choice("cheapest", "the command left alone", fast, _RUNS, Ratio(1.0, 1.0, 1.0))
        elif self._repeats(Control("seeded", seed), "mode seeded") == "same":
            how = "samerun run --mode seeded"
            cheapest = Choice("cheapest", how, "same", _RUNS, prices.get("seeded"))
        elif repeatable == "same":
            cheapest = self._search(seed)
        else:
            self.notes.append("not even mode strict makes the command repeat; samerun diagnose says why")
            cheapest = Choice("cheapest", "none found", repeatable, _RUNS)
        choices.append(cheapest)
        found = tuple(
            replace(price, buys=bought.get(price.name) or self._buys(price, seed, strict, fast))
            for price in result.prices
        )
        return replace(result, verdict=cheapest.verdict, choices=tuple(choices), prices=found)

    def _search(self, seed: int) -> Choice:
        """The smallest set of controls beyond mode seeded, or one thread instead, whichever costs less."""
        seeded = {source.id for source in find_sources().values() if "seeded" in source.modes}
        kernels = [
            id_ for id_, source in find_sources().items() if "strict" in source.modes and id_ not in seeded
        ]

        def control(ids: Sequence[str]) -> Control:
            return Control("strict", seed, only=(*sorted(seeded), *ids))

        needed = find_smallest(
            kernels, lambda ids: self._repeats(control(ids), f"seeded + {', '.join(ids)}") == "same"
        )
        candidates = [needed]
        if self._repeats(control([Threads.id]), "seeded + one thread") == "same":
            candidates.append([Threads.id])
        ways = [Setup("+".join(ids), "", control(ids)) for ids in candidates]
        *_, measured = self._measure(CostResult("unknown", ()), ways)
        prices = [price.steps for price in measured.prices]
        best = min(range(len(ways)), key=lambda at: _get_ratio(prices[at]))
        verdict = self._repeats(control(candidates[best]), f"{ways[best].name}, to be sure")
        listed = ", ".join(candidates[best])
        options = " ".join(f"--control {id_}" for id_ in candidates[best])
        how = f"mode seeded and {listed}: samerun run --mode seeded {options}"
        return Choice("cheapest", how, verdict, 2 * _RUNS, prices[best])

    def _buys(self, price: Price, seed: int, strict: Control, fast: Verdict) -> str | None:
        """What a control that costs something gives this command; None where that was not looked for."""
        id_ = price.name
        if id_ not in find_sources() or price.steps is None or price.steps.low <= 1.0:
            return None
        source = find_sources()[id_]
        if "strict" in source.modes:
            others = tuple(
                other.id for other in find_sources().values() if "strict" in other.modes and other.id != id_
            )
            without = self._repeats(replace(strict, only=others), f"mode strict without {id_}")
            return {
                "differs": "without it runs differ",
                "same": f"nothing here: {_RUNS} runs agree without it",
                "unknown": None,
            }[without]
        if source.buys:
            return source.buys
        return self._independence(id_, seed)

    def _independence(self, id_: str, seed: int) -> str | None:
        from samerun.experiments.vary.vary import VaryRequest, vary

        request = replace(self.request, control=self.request.control or Control("strict", seed))
        found = vary(request, VaryRequest((id_,), first=True), self._runner)
        if found.verdict == "differs":
            variant = found.dependences()[0].variant
            return f"independence: with {variant} the result is different"
        return "nothing here: the result does not depend on it" if found.verdict == "same" else None

    def _repeats(self, control: Control | None, stage: str) -> Verdict:
        """Whether so many runs under the control agree; the first that does not decides."""
        runs: list[Run] = []
        for number in range(1, _RUNS + 1):
            way = Setup(stage, "", control, "steps")
            runs.append(self._run(way, f"does it repeat {stage}, {number} of {_RUNS}"))
            if len(runs) < 2:
                continue
            comparisons = compare_all(runs, steps=self.request.steps)
            if any(item.verdict == "differs" for item in comparisons):
                return "differs"
            if scope.count_steps(comparisons) == 0 or any(item.verdict == "unknown" for item in comparisons):
                return "unknown"
        return "same"

    # --- runs ----------------------------------------------------------------------------------------

    def _run(self, way: Setup, stage: str) -> Run:
        return self._runner.run(*self._prepare(way), at=self.request.workspace, stage=stage)

    def _prepare(self, way: Setup) -> tuple[LaunchRequest, Plan]:
        plan = self.request.limit(Plan(tier=way.tier, control=way.control))
        return replace(self.request.launch, env=way.environment), plan


class _Measured:
    """The ratio of a step's time for each way to run, one for each round."""

    def __init__(self) -> None:
        self.ratios: dict[str, list[float]] = {}
        self.alone: list[float] = []  # seconds of the steps of the command left alone

    def add(self, name: str, with_it: list[float], without: list[float]) -> None:
        ratio = compare_pair(with_it, without)
        if ratio is not None:
            self.ratios.setdefault(name, []).append(ratio)
            self.alone += without


def _describe_verdicts(fast: Verdict, strict: Verdict) -> str | None:
    if strict != "same":
        return None
    return {
        "differs": "runs agree, which they do not when left alone",
        "same": f"nothing here: {_RUNS} runs agree when left alone",
        "unknown": None,
    }[fast]


def _get_ratio(price: Ratio | None) -> float:
    return float("inf") if price is None else price.ratio


def _compute_median(values: Sequence[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
