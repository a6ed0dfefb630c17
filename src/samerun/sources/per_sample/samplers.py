"""What a loader's samplers say of a pass: which epoch it is, and which share of the data it goes over."""

from __future__ import annotations

from typing import Any, NamedTuple

from samerun.ranks import rank

_SAMPLERS = ("batch_sampler", "sampler")
# How torch's samplers and their like, and accelerate's, name how many share the data, and which one this is.
_SHARES = (("num_replicas", "rank"), ("num_processes", "process_index"))


class Samplers(NamedTuple):
    """The dataset and the samplers of a loader, without the loader itself."""

    dataset: Any
    outermost: list[Any]

    def find_epoch(self) -> int:
        """The epoch that a sampler, or the dataset, was set to; 0 when none was."""
        for holder in (*self._list_all(), self.dataset):
            if callable(getattr(holder, "set_epoch", None)):
                epoch = getattr(holder, "epoch", None)
                if isinstance(epoch, int) and epoch > 0:
                    return epoch
        return 0

    def find_share(self) -> int | None:
        """Which share of the data this is, where a sampler gives one to each rank; None where none does.

        Several ranks may have the same one: those that split one replica of the model among them.
        """
        for sampler in self._list_all():
            for count, number in _SHARES:
                many, mine = getattr(sampler, count, None), getattr(sampler, number, None)
                if isinstance(many, int) and many > 1:
                    return mine if isinstance(mine, int) else rank()
        return None

    def _list_all(self) -> list[Any]:
        """These, and those that they hold."""
        seen: list[Any] = []
        ahead = list(self.outermost)
        while ahead:
            sampler = ahead.pop(0)
            if sampler is None or any(sampler is each for each in seen):
                continue
            seen.append(sampler)
            ahead += [getattr(sampler, name, None) for name in reversed(_SAMPLERS)]
        return seen


def find_samplers(loader: Any) -> Samplers:
    """Of a loader."""
    return Samplers(getattr(loader, "dataset", None), [getattr(loader, name, None) for name in _SAMPLERS])
