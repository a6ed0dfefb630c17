"""How far results move on machines where the bits cannot be equal: measured by runs as on such machines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from samerun.experiments import run_outcome
from samerun.experiments.lock.distances import measure, measure_losses
from samerun.experiments.lock.observed import Observed, observe
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.varied_runs import Change, VariedRuns, explain_misfit
from samerun.runs.lock.content import PORTABLE, Bounds, Environment
from samerun.sources.catalogue import find_sources
from samerun.sources.cpu_isa import CpuIsa
from samerun.sources.source import Source
from samerun.sources.tf32 import Tf32
from samerun.sources.threads import Threads

_OF_MACHINES: tuple[type[Source], ...] = (Threads, CpuIsa, Tf32)
_MAY_HOLD = (*PORTABLE, "batch", "initial")  # of data and of seeds, on any machine, where this run shows it


@dataclass(frozen=True)
class Measured:
    """The bounds, None where no variant could be run; what held in every variant; what could not be run."""

    bounds: Bounds | None
    portable: dict[str, str]
    notes: tuple[str, ...]


def measure_bounds(request: Request, runner: Runner, observed: Observed, locked: Environment) -> Measured:
    """Run the command with other numbers of threads, instructions and precisions, and compare with the lock.

    Raises what `Runner.run` raises.
    """
    varied = VariedRuns(request, runner)
    notes, factors, losses = [], [], [0.0]
    metrics = dict.fromkeys(locked.result.metrics, 0.0)
    holds = {name: observed.roots[name] for name in _MAY_HOLD if name in observed.roots}
    held = {step.at: step.loss for step in locked.steps if step.loss is not None}
    for change in _list_changes(observed):
        factor = f"{change.source}: {change.variant.label}"
        run = varied.run(f"measuring bounds: {factor}", [change])
        reason = run_outcome.explain_failure([run], parted=False) or explain_misfit(run, change)
        found = None if reason else observe(run, request.steps)
        if found is None or found.steps != observed.steps:
            notes.append(f"{factor} was not measured: {reason or 'it made another number of steps'}")
            continue
        factors.append(factor)
        losses.append(measure_losses(held, found.leaves.losses))
        for name, value in locked.result.metrics.items():
            metrics[name] = max(metrics[name], measure(value, found.result.metrics.get(name)))
        holds = {name: root for name, root in holds.items() if found.roots.get(name) == root}
    portable = {**holds, **observed.structure}
    if not factors or not math.isfinite(max(losses)):
        return Measured(None, portable, tuple(notes))
    finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
    return Measured(Bounds(max(losses), finite, tuple(factors)), portable, tuple(notes))


def _list_changes(observed: Observed) -> Iterator[Change]:
    catalogue = find_sources()
    for source in _OF_MACHINES:
        for variant in catalogue[source.id].variants(observed.run.manifest.settings):
            yield Change(source.id, variant)
