"""What is known of a resumed run that parts from the run that was never stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from samerun.experiments.resume.aligned_traces import AlignedTraces
from samerun.experiments.resume.epoch_starts import EpochStarts
from samerun.experiments.resume.resume_step import Position
from samerun.experiments.tensor_digests import NOTHING, read_named
from samerun.runs.details import parse_detail
from samerun.runs.difference import Difference
from samerun.runs.reading import Trace
from samerun.runs.schema import LOSS, MODEL

_OWN = frozenset(["torch.Generator.manual_seed", "np.random.default_rng", "random.Random"])
Named = dict[str, bytes]  # the digests of a group's tensors


class _Batch(msgspec.Struct):
    batch: int = 0  # which of its pass, from 1


@dataclass(frozen=True)
class Case:
    """A first difference between the two, and the traces of the process in which it is."""

    difference: Difference
    position: Position
    whole: Trace  # as recorded, from its first step on
    resumed: Trace
    continued: AlignedTraces
    saved: Callable[[], frozenset[str]] = frozenset  # what the checkpoint is known to have

    def found_elsewhere(self, what: str) -> int | None:
        """The step, another one, at which the whole run had the resumed run's data of the difference.

        `what` is "indices", "batch" or "input". The latest before the difference, else the first after it.
        """
        step = self.difference.step
        beginning = EpochStarts(self.resumed).of(step - self.continued.step)
        if beginning is None:
            return None
        at = {"indices": beginning.indices, "batch": beginning.batch}.get(what, beginning.use)
        if at is None or self.resumed.cell("what", at) != what:
            return None
        whole = self.whole
        same = whole.is_one_of("what", {what}) & ~whole.is_one_of("phase", {"evaluation"})
        same &= (whole.digests[0] == self.resumed.digests[0][at]).all(axis=1)
        steps = whole.steps[same & (whole.steps != step)]
        before = steps[steps < step]
        return int(before[-1]) if len(before) else int(steps[0]) if len(steps) else None

    def has_loader(self) -> bool:
        """Whether batches came from a loader that is known as one."""
        return bool(self.whole.is_one_of("what", {"batch"}).any())

    def is_restored(self, source: str) -> bool:
        """Whether a generator's state was the whole run's as the resumed run went on, or as it used data."""
        here, there = (
            _find_states(trace, source, step)
            for trace, step in ((self.resumed, 0), (self.whole, self.continued.step))
        )
        return any(one is not None and one == other for one, other in zip(here, there, strict=True))

    def is_put_back(self, source: str) -> bool:
        """Whether a generator was restored from the checkpoint, for all that is known, and drawn from since.

        The checkpoint has its state, and the resumed process did not begin as the whole run did.
        """
        if source not in self.saved():
            return False
        first = self.whole.is_one_of("what", {"rng", "state"}) & self.whole.is_one_of("name", {source})
        anew = {row.digest for row in self.whole.rows(first & (self.whole.steps == 0))}
        begun = _find_states(self.resumed, source, 0)[0]
        return begun is not None and begun not in anew

    def moves_in_forward(self, source: str) -> bool:
        """Whether the whole run drew from a generator between the model and the loss of the step.

        True too where the step has no loss, with which the state would have been written.
        """
        whole = self.whole
        here = whole.steps == self.difference.step
        if not (here & whole.is_one_of("what", {"loss"})).any():
            return True
        states = here & whole.is_one_of("what", {"state"}) & whole.is_one_of("name", {source})
        return any(row.detail == LOSS for row in whole.rows(states))

    def list_drawn_with_samples(self) -> list[str]:
        """The restored generators that were seen to move as samples are made, in the whole run."""
        states = self.whole.is_one_of("what", {"state"})
        names = {row.name for row in self.whole.rows(states) if row.detail == MODEL and row.name}
        return [name for name in sorted(names) if self.is_restored(name) and self.moves_with_samples(name)]

    def moves_with_samples(self, source: str) -> bool:
        """Whether a generator is moved between a step's beginning and its model, as samples are made there.

        Of the whole run's steps, without the first of a pass: its loader draws a seed. True where that has
        one step a pass.
        """
        whole = self.whole
        batches = whole.rows(whole.is_one_of("what", {"batch"}))
        later = {row.step for row in batches if (parse_detail(row.detail, _Batch) or _Batch()).batch > 1}
        states = whole.rows(whole.is_one_of("what", {"state"}) & whole.is_one_of("name", {source}))
        return not later or any(row.step in later and row.detail == "model" for row in states)

    def list_own_generators(self) -> list[str]:
        """Where the resumed run seeded generators of its own, before its first use of data."""
        first = EpochStarts(self.resumed).of(0)
        seeds = self.resumed.is_one_of("what", {"seed"}) & self.resumed.is_one_of("name", _OWN)
        seeds[None if first is None else first.start :] = False
        return list(dict.fromkeys(row.call_site for row in self.resumed.rows(seeds) if row.call_site))

    def after_step(self, what: str, step: int) -> list[tuple[Named, Named]]:
        """The tensors of each group that both runs have after `step`: the whole run's, the resumed one's."""
        both: list[dict[str, Named]] = []
        for trace in (self.continued.whole, self.continued.resumed):
            rows = [at for at in find_rows(trace, what, "optimizer") if trace.steps[at] == step]
            both.append({trace.cell("name", at): read_named(trace, at) for at in rows})
        return [(both[0][label], both[1][label]) for label in both[0] if label in both[1]]

    def list_frozen(self, step: int) -> list[str]:
        """The parameters of which only one of the runs has a gradient at `step`."""
        return [
            name
            for one, other in self.after_step("gradients", step)
            for name in one
            if name in other and (one[name] == NOTHING) != (other[name] == NOTHING)
        ]

    def before_first(self) -> list[tuple[Named, Named]]:
        """The parameters of each optimizer before the resumed run's first step, likewise."""
        whole = self.whole
        groups = []
        last = {self.resumed.cell("name", at): at for at in find_rows(self.resumed, "parameters", "setup")}
        for label, at in last.items():
            same = [
                row
                for row in find_rows(whole, "parameters", "optimizer")
                if whole.steps[row] < self.position.step and whole.cell("name", row) == label
            ]
            if same:
                groups.append((read_named(whole, same[-1]), read_named(self.resumed, at)))
        return groups

    def buffers_before_first(self) -> tuple[Named, Named]:
        """The buffers before the resumed run's first step that both runs have, likewise."""
        whole = self.whole
        known: Named = {}
        for row in find_rows(whole, "buffers", "optimizer"):
            if whole.steps[row] < self.continued.step:
                known = read_named(whole, row)
        found = {
            f"{self.resumed.cell('name', at)}.{name}": value
            for at in find_rows(self.resumed, "buffers", "setup")
            if self.resumed.steps[at] == 0  # and not of a module that was called for the first time later
            for name, value in read_named(self.resumed, at).items()
        }
        shared = [name for name in known if name in found]
        return {name: known[name] for name in shared}, {name: found[name] for name in shared}

    def last_equal_evaluation(self) -> int | None:
        """The last step, before that of the difference, at which its model was called in an evaluation.

        Of the resumed run, which was equal there. None where it was not called before.
        """
        resumed, difference = self.continued.resumed, self.difference
        called = resumed.is_one_of("what", {"output"}) & resumed.is_one_of("phase", {"evaluation"})
        called &= resumed.is_one_of("name", {difference.name or ""}) & (resumed.steps < difference.step)
        steps = resumed.steps[called]
        return int(steps[-1]) if len(steps) else None

    def evaluated_only(self) -> set[str]:
        """The root modules that the whole run called in evaluations alone: averaged weights, a teacher."""
        whole = self.whole
        called = whole.is_one_of("what", {"output"})
        evaluated = called & whole.is_one_of("phase", {"evaluation"})
        names, codes = whole.words("name"), whole.codes("name")
        trained = {names[code] for code in set(codes[called & ~evaluated].tolist())}
        return {names[code] for code in set(codes[evaluated].tolist())} - trained

    def losses_equal(self) -> bool:
        """Whether the losses of the step are equal as numbers, before they were scaled."""
        step = self.difference.step
        whole, resumed = (
            trace.losses().get(step) for trace in (self.continued.whole, self.continued.resumed)
        )
        return whole is not None and whole == resumed

    def accumulates(self) -> bool:
        """Whether some step of the whole run has several backward passes."""
        return any(len(losses) > 1 for losses in self.whole.losses().values())

    def generators(self, prefix: str = "") -> list[str]:
        """The sources, drawn from, whose state was not the whole run's by the difference; earliest first."""
        first = self.difference.rng_first
        return [
            source
            for source in sorted(first, key=lambda source: (first[source], source))
            if source.startswith(prefix) and source in self.difference.drawn
        ]


def _find_states(trace: Trace, source: str, step: int) -> tuple[bytes | None, bytes | None]:
    """A generator's state as a step begins, and as it uses data: the digests of its last records there."""
    import numpy as np

    first = EpochStarts(trace).of(step)
    ends = (len(trace), len(trace)) if first is None else (first.start, first.use)
    named = trace.is_one_of("name", {source}) & (trace.steps <= step)
    kinds = ({"rng"}, {"rng", "state"})  # a state is recorded where it is another one
    rows = [
        list(trace.rows(named & trace.is_one_of("what", kind) & (np.arange(len(trace)) < end)))
        for kind, end in zip(kinds, ends, strict=True)
    ]
    begun, used = (found[-1].digest if found else None for found in rows)
    return begun, used


def find_rows(trace: Trace, what: str, phase: str) -> list[int]:
    """Where the records of one kind and phase are."""
    import numpy as np

    found = np.flatnonzero(trace.is_one_of("what", {what}) & trace.is_one_of("phase", {phase}))
    return [int(at) for at in found]
