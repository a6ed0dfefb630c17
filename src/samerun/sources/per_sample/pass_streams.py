"""The streams of one pass over a dataset: what its samples are seeded from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from samerun.sources.per_sample import seeder
from samerun.sources.per_sample.begun_states import Begun
from samerun.streams import Name, Stream


class PassStreams(NamedTuple):
    """What the samples of one pass are seeded from: of each generator; nearly always one and the same."""

    torch: Stream
    python: Stream
    numpy: Stream
    entropy: int = 0  # mixed into what samples draw of the system's entropy, which never repeats
    earlier: tuple[int, ...] = ()  # what workers began with in the pass that this one is to repeat

    @classmethod
    def all_of(cls, stream: Stream, entropy: int = 0, earlier: tuple[int, ...] = ()) -> PassStreams:
        """The same for all of them."""
        return cls(stream, stream, stream, entropy, earlier)

    def child(self, *path: Name) -> PassStreams:
        """The streams further down the path."""
        if self.torch is self.python is self.numpy:
            return PassStreams.all_of(self.torch.child(*path), self.entropy, self.earlier)
        torch, python, numpy = (stream.child(*path) for stream in (self.torch, self.python, self.numpy))
        return PassStreams(torch, python, numpy, self.entropy, self.earlier)

    def begin_in(self, worker: Begun | None) -> PassStreams:
        """In a worker: those of a pass of its own, where it began otherwise than in the earlier one."""
        return self if worker is None or not (self.earlier or worker.seeded) else _part_in(self, worker)

    def part(self, apart: seeder.Apart) -> seeder.Apart:
        """What keeps a process's samples apart, with what does so for this pass."""
        return apart._replace(entropy=apart.entropy ^ self.entropy) if self.entropy else apart

    def seed_all(self, seeds: Callable[[Stream], list[int]]) -> tuple[list[int], seeder.Others | None]:
        """The seeds of torch's generator, and those of the others where they are not the same."""
        if self.torch is self.python is self.numpy:
            return seeds(self.torch), None
        return seeds(self.torch), list(zip(seeds(self.python), seeds(self.numpy), strict=True))


@functools.lru_cache(maxsize=8)
def _part_in(above: PassStreams, worker: Begun) -> PassStreams:
    streams = (above.torch, above.python, above.numpy)
    changed = worker.find_changed(above.earlier)
    torch, python, numpy = (
        stream.child("begun", bits) if bits else stream for stream, bits in zip(streams, changed, strict=True)
    )
    return PassStreams(torch, python, numpy, above.entropy)
