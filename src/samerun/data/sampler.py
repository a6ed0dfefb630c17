"""The order of samples: one for all ranks, of which each takes its share."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sized
from typing import Any, Literal, SupportsIndex

import numpy
import torch.utils.data

from samerun import ranks
from samerun.data.permutation import permutation
from samerun.data.seeds import seed_or_default
from samerun.errors import StateError, UsageError
from samerun.sources.per_sample import dataloaders
from samerun.streams import stream

Uneven = Literal["drop", "pad", "keep"]
_AT_ONCE = 1 << 16  # indices turned into Python integers at a time


class Sampler(torch.utils.data.Sampler[int]):
    """Indices in an order that depends on (seed, name, epoch) alone, shared out over the ranks.

    The order is one permutation of all samples; rank r takes every world_size-th of it from the r-th on. So
    the ranks' k-th batches together hold the same samples whatever the number of ranks, as long as their
    batches together are as large.

    `data` is a sized dataset or the number of samples. When that number is no multiple of world_size,
    `uneven` says what to do: "drop" leaves out the last few of the order, "pad" repeats its first few, "keep"
    gives some ranks one sample more (for evaluation; training with collectives would wait for ever). Rank and
    world size are by default those of torch.distributed or of the launcher's environment.

    Raises UsageError for a number of samples that does not divide without `uneven`, for several ranks without
    a seed they share, and for bad arguments.
    """

    def __init__(
        self,
        data: Sized | SupportsIndex,
        *,
        shuffle: bool = True,
        seed: int | None = None,
        name: str = "data",
        rank: int | None = None,
        world_size: int | None = None,
        uneven: Uneven | None = None,
    ) -> None:
        self._data = data
        self.rank = ranks.rank() if rank is None else operator.index(rank)
        self.world_size = ranks.world_size() if world_size is None else operator.index(world_size)
        self.shuffle = shuffle
        self.name = name
        self.uneven = uneven
        self.epoch = 0
        if self.samples < 0:
            raise UsageError(f"the number of samples is not negative; it was {self.samples}")
        if not 0 <= self.rank < self.world_size:
            raise UsageError(f"rank {self.rank} is not one of {self.world_size} ranks (0 to world_size - 1)")
        if seed is None and self.shuffle and self.world_size > 1 and dataloaders.seed_in_force() is None:
            raise UsageError(
                f"each of the {self.world_size} ranks would shuffle with a seed of its own; pass seed= "
                "(samerun.ranks.sync_seed() draws one for all)"
            )
        self.seed = seed_or_default(seed)
        self._check_uneven()

    def _check_uneven(self) -> None:
        left = self.samples % self.world_size
        if self.uneven not in (None, "drop", "pad", "keep"):
            raise UsageError(f'uneven is "drop", "pad" or "keep", not {self.uneven!r}')
        if left and self.uneven is None:
            raise UsageError(
                f"{self.samples} samples do not divide over {self.world_size} ranks; say what to do: "
                f'uneven="drop" leaves out {left}, uneven="pad" repeats {self.world_size - left}, '
                f'uneven="keep" gives {left} ranks one more'
            )

    @property
    def samples(self) -> int:
        """How many samples there are now: data may grow, or shrink, from one epoch to the next."""
        return _read_length(self._data)

    def set_epoch(self, epoch: int) -> None:
        """Take the order of this epoch from the next `iter()` on; samerun.data.DataLoader does it itself."""
        self.epoch = operator.index(epoch)

    def order(self) -> Any:
        """The order of this epoch for all ranks together: int64 (samples,)."""
        if not self.shuffle:
            return numpy.arange(self.samples)
        return permutation(self.samples, stream(self.seed, self.name, self.epoch, "order"))

    def share(self) -> Any:
        """This rank's part of the order: int64 (len(self),)."""
        self._check_uneven()
        order = self.order()
        left = len(order) % self.world_size
        if left and self.uneven == "drop":
            order = order[: len(order) - left]
        elif left and self.uneven == "pad":
            order = numpy.resize(order, len(order) - left + self.world_size)
        return order[self.rank :: self.world_size]

    def __iter__(self) -> Iterator[int]:
        if not self.shuffle:  # no list of all: there may be 10**12
            yield from self._in_order()
            return
        share = self.share()
        for begin in range(0, len(share), _AT_ONCE):
            yield from share[begin : begin + _AT_ONCE].tolist()

    def _in_order(self) -> Iterator[int]:
        """`share` without shuffling, one by one."""
        self._check_uneven()
        samples = self.samples
        left = samples % self.world_size
        end = samples
        if left and self.uneven != "keep":
            end += (self.world_size if self.uneven == "pad" else 0) - left
        every = range(self.rank, end, self.world_size)
        return iter(every) if end <= samples else (index % samples for index in every)

    def __len__(self) -> int:
        whole, left = divmod(self.samples, self.world_size)
        if self.uneven == "pad":
            return whole + bool(left)
        return whole + (self.uneven == "keep" and self.rank < left)

    def state_dict(self) -> dict[str, Any]:
        """What the order depends on, as plain values; where in the epoch is the loader's to know."""
        return {"seed": self.seed, "name": self.name, "epoch": self.epoch, "samples": self.samples}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state. Raises StateError for one of other data, another name or lacking something."""
        self.check_state(state)
        self.seed, self.epoch = int(state["seed"]), int(state["epoch"])

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Raise StateError for a state that `load_state_dict` would refuse."""
        lacking = [key for key in ("seed", "name", "epoch", "samples") if key not in state]
        if lacking:
            raise StateError(f"the sampler's state lacks {', '.join(lacking)}; it holds {', '.join(state)}")
        for key in ("name", "samples"):
            if state[key] != getattr(self, key):
                raise StateError(
                    f"the state is of a sampler with {key} {state[key]!r}, this one has "
                    f"{getattr(self, key)!r}; build it as it was when the state was saved"
                )


def _read_length(data: Sized | SupportsIndex) -> int:
    try:
        return len(data) if isinstance(data, Sized) else operator.index(data)
    except TypeError:
        raise UsageError(
            f"a sampler needs data with a length or the number of samples, not {type(data).__name__}"
        ) from None
