"""The digest of each quantity of each step of a run: what a lock's roots and steps are made of."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from samerun.comparing.pairing import RecordedRun
from samerun.comparing.refactored.loss_modules import find_calls, find_losses
from samerun.runs.reading import Trace
from samerun.runs.schema import BESIDE

# What a record is → the quantity that it is part of.
_QUANTITIES = {
    "batch": "batch",
    "input": "inputs",
    "output": "outputs",
    "loss": "loss",
    "gradients": "gradients",
    "parameters": "parameters",
    "buffers": "buffers",
    "optimizer": "optimizer",
    "saved": "saved",
    "end": "end",
    "indices": "indices",
    "rng": "draws",  # the states of generators say how much was drawn
}
_INITIAL = "initial"  # parameters and buffers before the first step
_EVALUATION = "evaluation"  # what models are given and give outside of the training, after a step's update
_NAMELESS = {"saved"}  # such a name may hold the time of day: what is saved counts, and not as what

Digests = Mapping[tuple[int, str], str]  # (step, quantity) to 32 hexadecimal digits


@dataclass(frozen=True)
class Leaves:
    """The digests of a run, and the last loss of each step."""

    digests: Digests
    losses: Mapping[int, float]

    def without(self, left_out: Collection[str]) -> Leaves:
        """The same without these quantities."""
        if not left_out:
            return self
        kept = {key: digest for key, digest in self.digests.items() if key[1] not in left_out}
        return Leaves(kept, {} if "loss" in left_out else self.losses)

    def list_steps(self) -> list[int]:
        """Those that have a digest, in order."""
        return sorted({step for step, _ in self.digests})

    def list_quantities(self) -> list[str]:
        """Those of any step, in the order of the alphabet."""
        return sorted({quantity for _, quantity in self.digests})


class _Entry(NamedTuple):
    """One record, by where it stands: names count by their order alone, so that a class can be renamed."""

    process: int
    phase: str
    name: int
    beside: bool
    digest: bytes


def list_leaves(recorded: RecordedRun, steps: int | None = None) -> Leaves:
    """Those of every rank together, of the steps below `steps` where it is given."""
    entries: dict[tuple[int, str], list[_Entry]] = defaultdict(list)
    losses: dict[int, float] = {}
    for process, trace in enumerate(_sort_processes(recorded)):
        for key, entry, _ in _list_entries(trace, process, steps):
            entries[key].append(entry)
        if not process:
            losses = {
                step: values[-1] for step, values in trace.losses().items() if steps is None or step < steps
            }
    return Leaves({key: _combine(found) for key, found in sorted(entries.items())}, losses)


def list_starting_weights(recorded: RecordedRun) -> set[str]:
    """What the digest of `parameters` after a step was, if a run goes on from there with these weights.

    An optimizer's own come alone after its step, where there are several: so there is one digest for all of
    them, and one for each.
    """
    found: dict[int, list[_Entry]] = defaultdict(list)
    for process, trace in enumerate(_sort_processes(recorded)):
        for _, entry, word in _list_entries(trace, process, None):
            if word == "parameters" and entry.phase == "setup":
                found[entry.name].append(entry._replace(phase="optimizer"))
    every = [entry for entries in found.values() for entry in entries]
    return {_combine(entries) for entries in (every, *found.values()) if entries}


def _sort_processes(recorded: RecordedRun) -> list[Trace]:
    """In an order that neither a command line nor the file names decide."""

    def place(trace: Trace) -> tuple[int, str, int, str]:
        parts = str(trace.meta.get("pair", "")).split("|")
        ordinal = int(parts[3]) if len(parts) == 4 and parts[3].isdecimal() and len(parts[3]) < 10 else 0
        return trace.rank, parts[1] if len(parts) == 4 else "", ordinal, trace.stem

    return sorted(recorded.compared, key=place)


def _list_entries(
    trace: Trace, process: int, steps: int | None
) -> Iterator[tuple[tuple[int, str], _Entry, str]]:
    """(step and quantity, entry, what the record is)."""
    import numpy as np

    digests, there = trace.digests
    wanted = trace.is_one_of("what", set(_QUANTITIES)) & there
    beside = (trace.flags & BESIDE) != 0
    wanted &= ~(beside & trace.is_one_of("what", {"indices", "rng"}))
    wanted &= ~find_calls(trace, find_losses(trace))
    if steps is not None:
        wanted &= trace.steps < steps
    at = np.flatnonzero(wanted)
    words, phases = trace.words("what"), trace.words("phase")
    numbers: dict[int, int] = {}
    columns = (trace.steps, trace.codes("what"), trace.codes("phase"), trace.codes("name"), beside)
    rows = zip(*(column[at].tolist() for column in columns), digests[at], strict=True)
    for step, what, phase, name, is_beside, digest in rows:
        word = words[what]
        quantity = _QUANTITIES[word]
        if phases[phase] == "setup" and word in ("parameters", "buffers"):
            quantity = _INITIAL
        if phases[phase] == "evaluation" and word in ("input", "output"):
            quantity = _EVALUATION
        number = 0 if word in _NAMELESS else numbers.setdefault(name, len(numbers))
        yield (step, quantity), _Entry(process, phases[phase], number, is_beside, digest.tobytes()), word


def _combine(entries: list[_Entry]) -> str:
    """Of records of one place in their order; of threads beside the training in any."""
    ordered = entries
    if len(entries) > 1:
        ordered = sorted((item for item in entries if not item.beside), key=lambda item: item[:3])
        ordered += sorted(item for item in entries if item.beside)
    whole = hashlib.sha256()
    for entry in ordered:
        place = f"{entry.process} {entry.phase} {0 if entry.beside else entry.name} {entry.beside:d}\n"
        whole.update(place.encode() + entry.digest)
    return whole.hexdigest()[:32]
