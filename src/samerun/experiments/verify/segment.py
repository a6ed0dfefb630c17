"""A segment of a locked run: a command goes on from a checkpoint, and gives the steps that follow it.

Where it goes on shows in the weights before its first step: they are those that the lock, or its leaves,
have after some step. From there on its steps are counted as the locked run counts them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from samerun.comparing.pairing import read
from samerun.experiments.lock.leaves import Leaves, list_starting_weights
from samerun.experiments.lock.named_files import name_file
from samerun.experiments.lock.observed import Observed
from samerun.experiments.verify.held import Held
from samerun.runs.lock.content import LockedStep

# A resumed process has these only of what it does before it goes on.
_OF_THE_START = frozenset({"initial", "end"})
# In its first step it may skip batches, and evaluate or save before it.
_NOT_AT_FIRST = frozenset({"batch", "indices", "saved", "draws"})
_WEIGHTS = "parameters"
_FROM_SCRATCH = "the command started from scratch: its weights are those before the locked run's first step"


@dataclass(frozen=True)
class Segment:
    """A run that goes on from a checkpoint, and what is locked of these steps."""

    first: int  # the step of the locked run that is its first
    observed: Observed  # with its steps counted so
    held: Held

    @property
    def quantities(self) -> tuple[str, ...]:
        """Those that are compared in it."""
        return tuple(sorted({name for step in self.held.steps for name in step.digests}))


def find_segment(observed: Observed, held: Held, checkpoint: Path) -> Segment | str:
    """The segment that a run is; else why that is not known."""
    known = {step.at: step.digests.get(_WEIGHTS) for step in held.steps}
    starting = list_starting_weights(read(observed.run))
    found = [at + 1 for at, digest in known.items() if digest in starting]
    if not found:  # it restored them later than they were seen
        after_one = observed.leaves.digests.get((0, _WEIGHTS))
        found = [at for at, digest in known.items() if after_one is not None and digest == after_one]
    if not found:
        return _explain_not_found(observed, held)
    if found == [0]:
        return _FROM_SCRATCH
    segments = [_cut(observed, held, first, checkpoint) for first in sorted(found, reverse=True)]
    return min(segments, key=lambda item: len(item.held.find_moved(item.observed, item.observed.steps)))


def _explain_not_found(observed: Observed, held: Held) -> str:
    initial = {step.digests.get("initial") for step in held.steps}
    if observed.leaves.digests.get((0, "initial"), "") in initial:
        return _FROM_SCRATCH
    said = "the weights that the command goes on from are those of no step of the locked run"
    if held.leaves is not None:
        return said
    steps = ", ".join(str(step.at) for step in held.steps if _WEIGHTS in step.digests)
    return f"{said} that the lock has by itself ({steps}); keep those of all with lock --leaves FILE"


def _cut(observed: Observed, held: Held, first: int, checkpoint: Path) -> Segment:
    """What both have from `first` on."""
    leaves = observed.leaves
    digests = {
        (step + first, name): digest
        for (step, name), digest in leaves.digests.items()
        if _is_compared(step, name)
    }
    moved = replace(
        observed,
        leaves=Leaves(digests, {step + first: loss for step, loss in leaves.losses.items()}),
        steps=observed.steps + first,
        inputs=_drop_checkpoint(observed, checkpoint),
    )
    steps = tuple(_cut_step(step, first) for step in held.environment.steps if step.at >= first)
    locked = None
    if held.leaves is not None:
        kept = {
            (step, name): digest
            for (step, name), digest in held.leaves.digests.items()
            if step >= first and _is_compared(step - first, name)
        }
        locked = replace(held.leaves, digests=kept)
    environment = replace(held.environment, steps=steps)
    return Segment(first, moved, Held(held.id, environment, None, locked))


def _cut_step(step: LockedStep, first: int) -> LockedStep:
    kept = {name: digest for name, digest in step.digests.items() if _is_compared(step.at - first, name)}
    return replace(step, digests=kept)


def _is_compared(step: int, name: str) -> bool:
    return name not in _OF_THE_START and (step > 0 or name not in _NOT_AT_FIRST)


def _drop_checkpoint(observed: Observed, checkpoint: Path) -> dict[str, str]:
    """The inputs without the checkpoint, which no locked run read."""
    cwd = observed.run.manifest.cwd
    name = name_file(str(checkpoint), cwd)
    return {
        path: digest
        for path, digest in observed.inputs.items()
        if path != name and not path.startswith(f"{name}/")
    }
