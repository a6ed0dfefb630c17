"""The order of the samples: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.Sampler."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from samerun.sources.source import Kind, Label, Settings, Source, Undo, Variant
from samerun.streams import stream_seed
from samerun.wrapping import SELF, Around, undo_all, wrap_attribute


class DataOrder(Source):
    """What torch's random samplers draw, with a generator of the user's too."""

    id = "data-order"
    summary = "samples are shuffled at random"
    advice = "DataLoader(…, shuffle=True, generator=torch.Generator().manual_seed(0))"
    kind = Kind.RNG
    studied_as = Label(2, "order of the samples")
    controllable = False  # torch-cpu controls the generator that it draws from
    hooks_into = "torch.utils.data"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Shuffle by (seed `value`, how many passes over the data were begun before)."""
        from torch.utils import data

        count = itertools.count()

        def seed() -> int:
            took()
            return stream_seed(value, self.id, next(count)) >> 1

        shuffled = (data.RandomSampler, data.WeightedRandomSampler, data.SubsetRandomSampler)
        undos = [wrap_attribute(cls, "__iter__", _shuffle_by(seed)) for cls in shuffled]
        distributed = data.distributed.DistributedSampler
        undos.append(wrap_attribute(distributed, "__iter__", _distribute_by(value, self.id, took)))
        return undo_all(undos)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another seed."""
        return [Variant("another seed", 4242, likely=0.9)]


def _shuffle_by(seed: Callable[[], int]) -> Around:
    def shuffled(self: Any, indices: Iterator[Any]) -> Iterator[Any]:
        import torch

        given, own = self.generator, torch._C.Generator()
        own.manual_seed(seed())
        self.generator = own  # read when the first index is asked for
        try:
            first = list(itertools.islice(indices, 1))
        finally:
            self.generator = given
        yield from first
        yield from indices

    return lambda original, args, kwargs: shuffled(SELF.of(args, kwargs), original(*args, **kwargs))


def _distribute_by(value: int, id_: str, took: Callable[[], None]) -> Around:
    """Every rank must draw the same: by its own seed and epoch, not by a count."""

    def iterate(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        took()
        self = SELF.of(args, kwargs)
        given = self.seed
        self.seed = stream_seed(value, id_, given, self.epoch) >> 2
        try:
            return iter(list(original(*args, **kwargs)))
        finally:
            self.seed = given

    return iterate
