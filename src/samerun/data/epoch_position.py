"""The position in an epoch: what the training has received, not what was fetched ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from samerun.data.order import Order
from samerun.errors import StateError, UsageError


@dataclass
class Place:
    """Where in which epoch a training is."""

    epoch: int
    batch: int = 0  # batches received
    order: int = 0  # the hash of their indices
    held: dict[str, Any] | None = None  # the generators of the sampler when the epoch began; None: not begun

    def skip(self, batches: int, order: Order) -> None:
        """Go past the next batches of this order."""
        for _ in range(batches):
            self.batch += 1
            self.order = order.hashes.popleft()


class Epoch(Iterator[Any]):
    """torch's iterator over one epoch, which keeps the place of what the training has received."""

    def __init__(self, begin: Callable[[], tuple[Any, Order, Place, int]], length: Callable[[], int]) -> None:
        self._length = length
        self._begin: Callable[[], tuple[Any, Order, Place, int]] | None = begin
        self._inner: Any = None
        self._failed = 0  # 1 when a batch could not be made: gone by once the training asks for the next

    def __next__(self) -> Any:
        if self._begin is not None:
            self._inner, self._order, self._place, had = self._begin()
            self._turn = self._order.turn
            # the loader is not held: its workers shall end when nobody else holds it
            self._begin, self._length = None, self._inner.__len__
            if had:
                self._skip(had)
        if self._order.turn != self._turn:
            raise UsageError(
                "another iterator of this loader has begun since, and persistent workers serve one at a "
                "time; use persistent_workers=False, or a loader for each"
            )
        place, before = self._place, self._handed_over()
        place.skip(self._failed, self._order)  # the training goes on without them
        self._failed = 0
        try:
            batch = next(self._inner)
        except StopIteration:
            if place.held is not None:
                place.epoch, place.batch, place.order, place.held = place.epoch + 1, 0, 0, None
            raise
        except BaseException:
            self._failed = int(self._handed_over() > before)
            raise
        place.skip(1, self._order)
        return batch

    def _handed_over(self) -> int:
        """How many batches torch's iterator is done with, whether they could be made or not."""
        received: int | None = getattr(self._inner, "_rcvd_idx", None)  # what workers made
        return self._order.handed_out if received is None else received

    def __len__(self) -> int:
        return self._length()

    def _skip(self, batches: int) -> None:
        """Make the batches of an iterable dataset again that the training has had already."""
        place = self._place
        place.batch = 0
        while place.batch + self._failed < batches:
            try:
                next(self)
            except StopIteration:
                raise StateError(
                    f"the state is after batch {batches} of epoch {place.epoch}, but the dataset gave fewer; "
                    "is it the same data?"
                ) from None
            except Exception:
                if not self._failed:  # else a batch that the training went on without
                    raise
