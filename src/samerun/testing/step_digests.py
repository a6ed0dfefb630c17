"""What a training holds after a step, as digests, in the order in which a difference is best named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from torch import nn

from samerun.digest import digest_value
from samerun.ranks.named_digests import Entry, find_first_difference, list_entries
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.testing.unsaved_state import find_unsaved

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
        return find_first_difference((*self.entries, *self.unsaved), (*other.entries, *other.unsaved))


def digest_step(training: Any, result: Any) -> Moment:
    """What step() returned, then gradients, objects and generators."""
    returned = [] if result is None else list_entries(result, "what step() returned")
    return Moment((*returned, *_list_gradients(training.objects), *_list_held(training.objects)))


def digest_end(training: Any) -> Moment:
    """Objects and generators, and what is not saved."""
    others = chain.from_iterable(held.entries for held in find_unsaved(training) if held.stateful)
    return Moment(tuple(_list_held(training.objects)), over=True, unsaved=tuple(others))


def digest_loaded(training: Any) -> Moment:
    """Objects and generators."""
    return Moment(tuple(_list_held(training.objects)))


def _list_held(objects: Mapping[str, Any]) -> Iterator[Entry]:
    for name, value in objects.items():
        yield from list_entries(value, name)
    for source in list_generators():
        yield Entry(f"the RNG {source.id}", source.digest() or b"", "its state")


def list_generators() -> list[Rng]:
    """The sources that are generators in use in this process."""
    return [source for source in find_sources().values() if isinstance(source, Rng) and source.in_play()]


def _list_gradients(objects: Mapping[str, Any]) -> list[Entry]:
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
