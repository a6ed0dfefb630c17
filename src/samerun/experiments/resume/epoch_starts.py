"""Where the training of each step begins in a trace: the batch that it uses first, and the first use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from samerun.runs.reading import Trace
from samerun.runs.untrusted import parse_json

if TYPE_CHECKING:
    from samerun.runs.reading import Bools, Ints

_USES = frozenset({"input", "output", "loss", "gradients"})
_CALLS = frozenset({"input", "output"})
_TRAINING = frozenset({"data", "forward", "backward", "optimizer"})


@dataclass(frozen=True)
class Start:
    """Positions in the trace; `batch` and `indices` are None where no loader made what was used."""

    use: int  # the first record of the step that used data
    batch: int | None
    indices: int | None

    @property
    def start(self) -> int:
        """The first record that belongs to the step's training."""
        return min(at for at in (self.use, self.batch, self.indices) if at is not None)


class EpochStarts:
    """The beginnings of the steps of one trace.

    Batches that are loaded and not used (to skip to a position in the epoch) and those of an evaluation do
    not belong to them.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def of(self, step: int) -> Start | None:
        """The beginning of `step`, None when nothing of it was recorded."""
        import numpy as np

        steps, uses = self._uses
        found = int(np.searchsorted(steps, step))
        if found == len(steps) or steps[found] != step:
            return None
        use = int(uses[found])
        batch = _find_last_before(self._batches, use)
        between = _find_last_before(self._evaluations, use)
        if batch is None or int(self._trace.steps[batch]) != step or (between or -1) > batch:
            return Start(use, None, None)
        indices = _find_last_before(self._indices, batch)
        before = _find_last_before(self._batches, batch)
        if indices is not None and (before is None or before < indices):
            return Start(use, batch, indices)
        return Start(use, batch, None)

    def number(self, step: int) -> int | None:
        """Which batch of its epoch the step began with, counted from 1; None when that is not known."""
        beginning = self.of(step)
        if beginning is None or beginning.indices is None:
            return None
        try:
            number = parse_json(self._trace.cell("detail", beginning.indices) or "")["batch"]
        except (ValueError, KeyError, TypeError):
            return None
        return number if isinstance(number, int) else None

    def rest(self, step: int) -> int | None:
        """The number of the last batch with which a step of its epoch began; None when that is not known.

        The epoch is known to end where a later step begins with a batch of the same or a lower number.
        """
        number = self.number(step)
        while number is not None:
            step += 1
            following = self.number(step)
            if following is not None and following <= number:
                return number
            number = following
        return None

    @cached_property
    def _uses(self) -> tuple[Ints, Ints]:
        """(the steps that used data, in order; for each the position of its first use)."""
        import numpy as np

        trace = self._trace
        training = trace.is_one_of("what", _USES) & trace.is_one_of("phase", _TRAINING)
        used = np.flatnonzero(training & ~self._mark_probes(training))
        _, first = np.unique(trace.steps[used], return_index=True)
        return trace.steps[used[first]], used[first]

    def _mark_probes(self, training: Bools) -> Bools:
        """Calls of models in the process's first step that no step is made of.

        Layers called one by one or with tensors that have no bytes, as Keras does to learn shapes: nothing
        of that name is called in a later step. And a model called before the step's first batch was loaded,
        to draw its graph, where the next step begins with its batch.
        """
        import numpy as np

        trace = self._trace
        found: Bools = np.zeros(len(trace), dtype=bool)
        calls = np.flatnonzero(training & trace.is_one_of("what", _CALLS))
        if not len(calls) or trace.steps[calls[0]] == trace.steps[calls[-1]]:
            return found
        early = trace.steps[calls] == trace.steps[calls[0]]
        words = [word.partition("(")[0] for word in trace.words("name")] + [""]  # -1: without a name
        names = [words[code] for code in trace.codes("name")[calls].tolist()]
        later = {name for name, first in zip(names, early.tolist(), strict=True) if not first}
        known = np.array([name in later for name in names])
        there = trace.digests[1][calls]
        for at in range(1, int(early.sum())):  # its keywords may be values, and have bytes
            there[at] &= there[at - 1] or calls[at] != calls[at - 1] + 1 or names[at] != names[at - 1]
        found[calls[early & ~(known & there)]] = True
        following = calls[~early][0]
        batch = self._find_first_batch(calls[0])
        if batch is not None and (early & (calls > batch)).any():
            its = self._find_first_batch(following)
            found[calls[calls < batch]] = its is not None and its < following
        return found

    def _find_first_batch(self, at: int) -> int | None:
        """Where the first batch of the step of that record is."""
        steps = self._trace.steps
        own = self._batches[steps[self._batches] == steps[at]]
        return int(own[0]) if len(own) else None

    @cached_property
    def _batches(self) -> Ints:
        return self._positions("what", "batch")

    @cached_property
    def _indices(self) -> Ints:
        return self._positions("what", "indices")

    @cached_property
    def _evaluations(self) -> Ints:
        return self._positions("phase", "evaluation")

    def _positions(self, column: str, word: str) -> Ints:
        import numpy as np

        return np.flatnonzero(self._trace.is_one_of(column, {word}))


def _find_last_before(positions: Ints, at: int) -> int | None:
    import numpy as np

    found = int(np.searchsorted(positions, at))
    return int(positions[found - 1]) if found else None
