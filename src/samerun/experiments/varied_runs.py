"""Records runs in which sources are changed on purpose, and holds them against a run that was left alone."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from samerun.comparing.compare_runs import compare
from samerun.controls import select_sources
from samerun.experiments import run_outcome
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.tensor_digests import list_unequal, read_named
from samerun.launching.marker_files import name_marker
from samerun.runs.difference import Difference
from samerun.runs.plan import Control, Plan
from samerun.runs.reading import Trace
from samerun.runs.schema import only_helps
from samerun.runs.store import Run
from samerun.sources.source import Variant


@dataclass(frozen=True)
class Change:
    """A source and the variant that it is changed to."""

    source: str
    variant: Variant

    @property
    def name(self) -> tuple[str, str]:
        """(source, label of the variant)."""
        return self.source, self.variant.label


def leave_alone(control: Control | None, sources: Sequence[str]) -> Control | None:
    """The control, with these sources left alone."""
    ids = tuple(source.id for source in select_sources(control))
    if control is None or not set(ids) & set(sources):
        return control
    return replace(control, only=tuple(id_ for id_ in ids if id_ not in sources))


class VariedRuns:
    """Records the runs of one command; raises what `Runner.run` raises."""

    def __init__(self, request: Request, runner: Runner) -> None:
        self.request = request
        self.control = request.control
        self._runner = runner

    def announce(self, runs: int) -> None:
        """Tell whoever watches how many runs are to come."""
        self._runner.listener.ahead(runs)

    def run(self, stage: str, changes: Sequence[Change] = (), plan: Plan | None = None) -> Run:
        """Record one run with these changes: a whole one, or as `plan` says."""
        request = self.request
        command = request.command
        environment: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            for change in changes:
                variant = change.variant
                environment.update(variant.environment)
                command = command if variant.rewrite is None else variant.rewrite(command)
                if variant.around is not None:
                    stack.enter_context(variant.around())
            plan = replace(
                request.limit(plan or Plan(values=True)),
                control=leave_alone(self.control, [change.source for change in changes]),
                vary=_collect_values(changes),
            )
            fresh = request.scratch or any(change.variant.scratch for change in changes)
            return self._runner.run(
                replace(request.launch, command=command, env=environment),
                plan,
                at=replace(request.workspace, fresh=fresh),
                stage=stage,
            )


def _collect_values(changes: Sequence[Change]) -> dict[str, object]:
    return {change.source: change.variant.value for change in changes if change.variant.value is not None}


def is_in_play(run: Run, change: Change) -> bool:
    """Whether what was changed was used in the run; variables and the like are taken to be."""
    return change.variant.value is None or (run.path / name_marker(change.source)).exists()


def explain_misfit(run: Run, change: Change) -> str | None:
    """Why the change did not take hold, by what the source says of itself in the run; None when it did."""
    said = run.manifest.settings.get(change.source, {})
    for name, value in change.variant.expects.items():
        if said.get(name) != value:
            seen = "nothing" if name not in said else f"{said[name]!r}"
            return f"the change did not apply: {name} should be {value!r}, and the run reports {seen}"
    return None


@dataclass(frozen=True)
class BaseComparison:
    """A run held against the base: `difference` where they part, `reason` when that cannot be told."""

    difference: Difference | None = None
    reason: str | None = None


def hold(base: Run, run: Run, changes: Sequence[Change], steps: int | None) -> BaseComparison:
    """Hold a varied run against the base; only the weights, when a variant says so."""
    if any(change.variant.compares == "weights" for change in changes):
        if failure := run_outcome.explain_failure([run], parted=False):
            return BaseComparison(reason=_describe_failed(run, failure))
        return _compare_weights(base, run, steps)
    comparison = compare(base, run, steps=steps)
    if comparison.difference is not None and not run_outcome.is_crash(comparison, (base, run)):
        return BaseComparison(comparison.difference)
    if failure := run_outcome.explain_failure([run], parted=False):
        return BaseComparison(reason=_describe_failed(run, failure))
    if comparison.verdict == "same":
        return BaseComparison()
    return BaseComparison(reason=comparison.reason or "the runs cannot be compared")


def _describe_failed(run: Run, failure: str) -> str:
    last = run_outcome.read_last_lines([run])
    how = failure.removeprefix("the command failed in every run: ")
    return f"the command fails with it ({how})" + (f": {last[-1]}" if last else "")


def _compare_weights(base: Run, run: Run, steps: int | None) -> BaseComparison:
    """The first step after which the weights of a process that both runs have are not equal."""
    one, other = base.traces(), run.traces()
    shared = [stem for stem in one if stem in other and not only_helps(stem)]
    compared = False
    for stem in shared:
        a, b = _read_groups(one[stem], steps), _read_groups(other[stem], steps)
        compared |= bool(a.keys() & b.keys())
        parted = sorted(key for key in a.keys() & b.keys() if a[key] != b[key])
        alone = sorted(a.keys() ^ b.keys())
        if parted or alone:
            first = min([*parted, *alone])
            differing = list_unequal(a.get(first, {}), b.get(first, {}))
            return BaseComparison(
                Difference(
                    step=first[0],
                    phase="optimizer",
                    what="parameters",
                    kind="value" if first in parted else "ended",
                    name=differing[0] if differing else first[1],
                    process=stem,
                )
            )
    if not compared:
        return BaseComparison(reason="no weights were recorded that could be compared")
    return BaseComparison()


def _read_groups(trace: Trace, steps: int | None) -> Mapping[tuple[int, str, int], dict[str, bytes]]:
    """The weights after each step by (step, group, number of the record within the step)."""
    import numpy as np

    wanted = trace.is_one_of("what", {"parameters"}) & trace.is_one_of("phase", {"optimizer"})
    if steps is not None:
        wanted &= trace.steps < steps
    found: dict[tuple[int, str, int], dict[str, bytes]] = {}
    for at in np.flatnonzero(wanted).tolist():
        step, label = int(trace.steps[at]), str(trace.cell("name", at))
        number = sum(1 for key in found if key[:2] == (step, label)) if (step, label, 0) in found else 0
        found[step, label, number] = read_named(trace, at)
    return found
