"""What a training holds after a step, as digests, in the order in which a difference is best named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from torch import nn

from samerun.digest import digest_value
from samerun.ranks.named_digests import Entry, entries, first_difference
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import catalogue
from samerun.testing.unsaved_state import unsaved

Difference = tuple[Entry | None, Entry | None]


@dataclass(frozen=True)
class Moment:
    """After one step, or after the end."""

    entries: tuple[Entry, ...]
    over: bool = False
    unsaved: tuple[Entry, ...] = ()  # after the end: what is in no checkpoint and has a state all the same

    def same_as(self, other: Moment) -> bool:
        """Whether both are after a step or both after the end, and hold the same."""
        return self.over == other.over and self.difference(other) is None

    def difference(self, other: Moment) -> Difference | None:
        """The first entry of this moment that the other has not or has otherwise; None when there is none."""
        return first_difference((*self.entries, *self.unsaved), (*other.entries, *other.unsaved))


def after_step(training: Any, result: Any) -> Moment:
    """What step() returned, then gradients, objects and generators."""
    returned = [] if result is None else entries(result, "what step() returned")
    return Moment((*returned, *_gradients(training.objects), *_held(training.objects)))


def after_end(training: Any) -> Moment:
    """Objects and generators, and what is not saved."""
    others = chain.from_iterable(held.entries for held in unsaved(training) if held.stateful)
    return Moment(tuple(_held(training.objects)), over=True, unsaved=tuple(others))


def after_loading(training: Any) -> Moment:
    """Objects and generators."""
    return Moment(tuple(_held(training.objects)))


def _held(objects: Mapping[str, Any]) -> Iterator[Entry]:
    for name, value in objects.items():
        yield from entries(value, name)
    for source in generators():
        yield Entry(f"the RNG {source.id}", source.digest() or b"", "its state")


def generators() -> list[Rng]:
    """The sources that are generators in use in this process."""
    return [source for source in catalogue().values() if isinstance(source, Rng) and source.in_play()]


def _gradients(objects: Mapping[str, Any]) -> list[Entry]:
    return [
        Entry(
            f"the gradient of {name}.{parameter}",
            digest_value(tensor.grad),
            f"{tensor.dtype} {tuple(tensor.shape)}",
        )
        for name, module in objects.items()
        if isinstance(module, nn.Module)
        for parameter, tensor in module.named_parameters()
        if tensor.grad is not None
    ]
