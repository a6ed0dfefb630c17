"""Which step of the run that was never stopped a resumed process went on from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from samerun.runs.reading import Trace
from samerun.runs.schema import SAVED

if TYPE_CHECKING:
    from samerun.runs.reading import Bools

By = Literal[
    "weights",  # its weights before its first step are those of the whole run then
    "first step",  # its weights after its first step are
    "checkpoint",  # its weights are not found: it is when the last checkpoint before the kill was written
    "kill",  # nor was a checkpoint seen
]


@dataclass(frozen=True)
class Position:
    """Where a resumed process began, in optimizer steps of the whole run done before.

    `fresh`: its weights were those of the very start; `anew`: so were they after its first step.
    """

    step: int
    by: By
    fresh: bool = False
    anew: bool = False


def find_position(whole: Trace, resumed: Trace, checkpoint: int | None, killed_at: int) -> Position:
    """The position of `resumed` in `whole`.

    `checkpoint` is after how many steps the last checkpoint before the kill was written, None when no
    writing was seen.
    """
    of_whole, of_resumed = _read_weights(whole), _read_weights(resumed)
    held = _find_held(of_whole, of_resumed)
    stepped = _find_stepped(of_whole, of_resumed)
    if 0 in held and stepped and 0 not in stepped:
        return Position(_choose(stepped, checkpoint, killed_at), "first step")  # restored later than seen
    if held - {0}:
        return Position(_choose(held - {0}, checkpoint, killed_at), "weights")
    if held:
        return Position(checkpoint or 0, "weights", fresh=True, anew=0 in stepped)
    if stepped:
        return Position(_choose(stepped, checkpoint, killed_at), "first step")
    if checkpoint is not None:
        return Position(checkpoint, "checkpoint")
    return Position(killed_at, "kill")


def list_checkpoints(trace: Trace) -> list[tuple[int, str | None]]:
    """For each torch.save once a step was done: (optimizer steps done, path where it is known), in order."""
    import numpy as np

    made = np.flatnonzero(_mark_updates(trace))
    paths = trace.is_one_of("what", {"written"}) & trace.is_one_of("name", {SAVED})
    contents = trace.is_one_of("what", {"saved"})
    found: list[tuple[int, str | None]] = []
    for at in np.flatnonzero(paths | contents).tolist():
        before = int(np.searchsorted(made, at))
        done = int(trace.steps[made[before - 1]]) + 1 if before else 0
        if done:
            found.append((done, trace.cell("detail", at)))
    return found


def has_trained(trace: Trace) -> bool:
    """Whether the process made an optimizer step."""
    return bool(_mark_updates(trace).any())


_History = list[tuple[int, bytes]]  # (steps done, digest of a group's parameters from then on)


def _read_weights(trace: Trace) -> dict[str, _History]:
    """The parameters of each optimizer that steps: at the start, where seen, and after each of its steps."""
    import numpy as np

    rows = np.flatnonzero(trace.is_one_of("what", {"parameters"}))
    setup = trace.is_one_of("phase", {"setup"})[rows]
    labels = [trace.words("name")[code] for code in trace.codes("name")[rows].tolist()]
    stepping = {label for label, early in zip(labels, setup.tolist(), strict=True) if not early}
    words = trace.digests[0]
    found: dict[str, _History] = {label: [] for label in sorted(stepping)}
    for at, label, early in zip(rows.tolist(), labels, setup.tolist(), strict=True):
        if label in stepping:
            done = 0 if early else int(trace.steps[at]) + 1
            found[label].append((done, words[at].tobytes()))
    return found


def _find_held(whole: dict[str, _History], resumed: dict[str, _History]) -> set[int]:
    """After which numbers of steps the whole run had the weights that the resumed process began with."""
    last = max((history[-1][0] for history in whole.values()), default=0)
    found: set[int] | None = None
    for label, history in resumed.items():
        start = [digest for done, digest in history if done == 0]
        if not start or label not in whole:
            continue
        ends = [done for done, _ in whole[label][1:]] + [last + 1]
        held = {
            step
            for (done, digest), end in zip(whole[label], ends, strict=True)
            if digest == start[-1]
            for step in range(done, end)
        }
        found = held if found is None else found & held
    return found or set()


def _find_stepped(whole: dict[str, _History], resumed: dict[str, _History]) -> set[int]:
    """Before which steps the whole run's next weights are those after the resumed process's first step."""
    firsts = [(history[0], label) for label, history in _drop_starts(resumed).items() if history]
    if not firsts:
        return set()
    (done, digest), label = min(firsts)
    history = _drop_starts(whole).get(label, [])
    return {step - done for step, found in history if found == digest}


def _drop_starts(weights: dict[str, _History]) -> dict[str, _History]:
    return {label: [item for item in history if item[0]] for label, history in weights.items()}


def _choose(steps: set[int], checkpoint: int | None, killed_at: int) -> int:
    """One of the steps that fit: the last checkpoint's, else the latest that the killed process had done."""
    if checkpoint in steps and checkpoint is not None:
        return checkpoint
    return max((step for step in steps if step <= killed_at), default=min(steps))


def _mark_updates(trace: Trace) -> Bools:
    return trace.is_one_of("what", {"parameters"}) & trace.is_one_of("phase", {"optimizer"})
