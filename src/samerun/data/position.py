"""The position in an epoch: what the training has received, not what was fetched ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from samerun.data.order import Order
from samerun.errors import StateError


@dataclass
class Place:
    """Where in which epoch a training is."""

    epoch: int
    batch: int = 0  # batches received
    order: int = 0  # the hash of their indices
    held: dict[str, Any] | None = None  # the generators of the sampler when the epoch began; None: not begun


class Epoch(Iterator[Any]):
    """torch's iterator over one epoch, which keeps the place of what the training has received."""

    def __init__(self, begin: Callable[[], tuple[Any, Order, Place, int]], length: Callable[[], int]) -> None:
        self._length = length
        self._begin: Callable[[], tuple[Any, Order, Place, int]] | None = begin
        self._inner: Any = None

    def __next__(self) -> Any:
        if self._begin is not None:
            self._inner, self._order, self._place, had = self._begin()
            # the loader is not held: its workers shall end when nobody else holds it
            self._begin, self._length = None, self._inner.__len__
            if had:
                self._skip(had)
        place = self._place
        try:
            batch = next(self._inner)
        except StopIteration:
            if place.held is not None:
                place.epoch, place.batch, place.order, place.held = place.epoch + 1, 0, 0, None
            raise
        place.batch += 1
        place.order = self._order.hashes.popleft()
        return batch

    def __len__(self) -> int:
        return self._length()

    def _skip(self, batches: int) -> None:
        """Make the batches of an iterable dataset again that the training has had already."""
        place = self._place
        place.batch = 0
        for _ in range(batches):
            try:
                next(self)
            except StopIteration:
                raise StateError(
                    f"the state is after batch {batches} of epoch {place.epoch}, but the dataset gave fewer; "
                    "is it the same data?"
                ) from None
