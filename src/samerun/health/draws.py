"""What the training of one process drew, as far as the states of its generators tell.

A generator's state is written at the start of each step, when the first module of a step is called, when its
first backward pass begins, and around each seeding. Two states in a row that differ are a stretch of draws,
unless the script seeded the generator between them.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from samerun.runs.difference import Row
from samerun.runs.reading import Trace
from samerun.runs.schema import LOSS, MODEL, SEEDED
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.python_random import PythonRandom
from samerun.sources.torch_cuda import TorchCuda

_MOST = 60_000  # rows of states and seedings that are looked at
SEEDS = {"random.seed": PythonRandom.id, "np.random.seed": NumpyGlobal.id, "torch.manual_seed": "torch-"}


@dataclass(frozen=True)
class Stretch:
    """Draws from one generator in one step."""

    generator: str
    step: int
    until: str  # MODEL: what was drawn before the model was called · LOSS: what the model drew
    before: bytes  # the state that they began with
    after: bytes
    first: bool  # that state `after` was not seen before: it is not one that was put back
    keyed: bool  # the stretch begins at a seeding made while a sample or a batch was made
    at: int  # the position of the row that ends it


class Draws:
    """Of the process that trains one rank."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def rows(self) -> list[tuple[int, Row]]:
        """States and seedings, each with its position."""
        import numpy as np

        mask = self.trace.is_one_of("what", {"rng", "state", "seed"})
        positions = np.flatnonzero(mask)
        mask[positions[_MOST:]] = False
        return list(zip(positions[:_MOST].tolist(), self.trace.rows(mask), strict=True))

    @cached_property
    def stretches(self) -> list[Stretch]:
        """All that made data for the model or that the model drew, in order."""
        last: dict[str, Row] = {}
        seen: dict[str, set[bytes]] = {}
        found = []
        seeded_in: dict[str, str] = {}  # generator to the phase of the seeding behind its last state
        phase = ""
        for at, row in self.rows:
            if row.what == "seed":
                phase = row.phase
                continue
            name, state = row.name or "", row.digest or b""
            known = seen.setdefault(name, set())
            before = last.get(name)
            moment = row.detail if row.what == "state" else None
            if moment == SEEDED:
                seeded_in[name] = phase
            elif before is not None and before.digest != state:
                keyed = seeded_in.pop(name, "") == "data" and before.detail == SEEDED
                if moment in (MODEL, LOSS):
                    first = state not in known
                    begin = before.digest or b""
                    found.append(Stretch(name, row.step, moment, begin, state, first, keyed, at))
            known.add(state)
            last[name] = row
        return found

    def seeds(self, generator: str) -> list[tuple[int, Row]]:
        """The seedings of one generator by the script, each with its position."""
        return [(at, row) for at, row in self.rows if row.what == "seed" and _is_of(row, generator)]

    @cached_property
    def inputs(self) -> dict[int, bytes]:
        """The digest of the first that went into a module in each step of the training."""
        return dict(self._first("input", "data"))

    @cached_property
    def weights(self) -> dict[int, tuple[str, bytes]]:
        """(the optimizer, the digest of its parameters) after each step."""
        found: dict[int, tuple[str, bytes]] = {}
        trace = self.trace
        names, codes = trace.words("name"), trace.codes("name")
        for at in self._positions("parameters", "optimizer"):
            found[int(trace.steps[at])] = names[codes[at]], trace.digests.values[at].tobytes()
        return found

    def optimizer(self, step: int) -> str | None:
        """The one that made a step."""
        known = self.weights.get(step)
        return None if known is None else known[0]

    @cached_property
    def evaluated(self) -> frozenset[int]:
        """The steps before which there was an evaluation."""
        import numpy as np

        trace = self.trace
        mask = trace.is_one_of("what", {"output"}) & trace.is_one_of("phase", {"evaluation"})
        return frozenset((np.unique(trace.steps[mask]) + 1).tolist())

    def training(self, position: int) -> int:
        """Which training of the process a record belongs to: each begins with an optimizer of its own."""
        return bisect.bisect(self._made, position)

    @cached_property
    def _made(self) -> list[int]:
        import numpy as np

        made: list[int] = np.flatnonzero(self.trace.is_one_of("what", {"trains"})).tolist()
        return made

    def _first(self, what: str, phase: str) -> Iterator[tuple[int, bytes]]:
        met = -1
        for at in self._positions(what, phase):
            step = int(self.trace.steps[at])
            if step > met:
                met = step
                yield step, self.trace.digests.values[at].tobytes()

    def _positions(self, what: str, phase: str) -> list[int]:
        import numpy as np

        mask = self.trace.is_one_of("what", {what}) & self.trace.is_one_of("phase", {phase})
        positions: list[int] = np.flatnonzero(mask & self.trace.digests.there).tolist()
        return positions


def _is_of(row: Row, generator: str) -> bool:
    name = row.name or ""
    if name.startswith("torch.cuda."):
        return generator == TorchCuda.id
    begins = SEEDS.get(name)
    return begins is not None and generator.split(":")[0].startswith(begins)
