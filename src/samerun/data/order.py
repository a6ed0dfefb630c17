"""The batches of an epoch, from any sampler, from any batch on.

A sampler of torch or of the user may draw from the global generators or hold generators of its own. The first
are seeded for the epoch and put back; the second are noted when the epoch begins, so that the same epoch can
be begun again. On going on in the middle, the batches before are drawn again and held against a hash of those
that were handed out: a sampler that does not repeat is an error, never a wrong order.
"""

from __future__ import annotations

import random
import re
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy
import torch
import torch.utils.data
import xxhash

from samerun.data.sampler import Sampler
from samerun.errors import StateError, UsageError
from samerun.sources.per_sample import own_generators, seeder
from samerun.sources.per_sample.pass_streams import PassStreams
from samerun.sources.per_sample.passes import Pass, is_handed_out_once
from samerun.streams import Stream, stream_seed

# These draw from the global generators when they begin, and never later.
_DRAW_AT_ONCE = (
    torch.utils.data.RandomSampler,
    torch.utils.data.SequentialSampler,
    torch.utils.data.SubsetRandomSampler,
    torch.utils.data.WeightedRandomSampler,
    torch.utils.data.DistributedSampler,
)


class Order:
    """The sampler of a loader as its iterator sees it: batches with their epoch, from `start` on."""

    def __init__(
        self, sampler: Any, stream: Stream, batched: bool, dataset: Any, tell: Callable[[int], None]
    ) -> None:
        self.sampler = sampler
        self._stream = stream
        self._batched = batched
        self._dataset = dataset
        self._tell = tell  # the sampler, which epoch
        self._draws = _tell_when_it_draws(sampler)
        self._follow = 0, 0, 0
        self.turn = 0  # how often it was told what to follow: persistent workers serve the last one alone
        self.handed_out = 0
        self.hashes: deque[int] = deque()  # up to each batch that was handed out and has not arrived yet

    def follow(self, epoch: int, start: int, expected: int) -> None:
        """What the next `iter()` gives: an epoch, from batch `start` on, which follow those of this hash."""
        self._follow = epoch, start, expected
        self.turn += 1

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[Any]:
        epoch, start, expected = self._follow
        hashes: deque[int] = deque()
        self.hashes = hashes
        return self._batches(hashes, epoch, start, expected)

    def _batches(self, hashes: deque[int], epoch: int, start: int, expected: int) -> Iterator[Any]:
        self._tell(epoch)  # now: another iterator of the same loader may have been made since
        above = PassStreams.all_of(self._stream.child(epoch))
        handing = Pass(
            lambda _: above, self._dataset, batched=self._batched, once=_hands_out_once(self.sampler)
        )
        has_indices = not isinstance(self._dataset, torch.utils.data.IterableDataset)
        shared = _find_shared_order(self.sampler)  # of the data as they are now
        so_far = number = 0
        for batch in self._apart(self._stream.child_seed(epoch, "order")):
            so_far = _hash_batch(so_far, batch) if shared is None else shared
            number += 1
            if number > start:
                hashes.append(so_far)
                self.handed_out += 1
                yield handing.hand_out(batch) if has_indices else batch
                continue
            handing.count(batch)
            if number == start:
                _check(so_far, expected, epoch, start)
        if number < start:
            _check(None, expected, epoch, start)

    def _apart(self, seed: int) -> Iterator[Any]:
        """The sampler's batches, drawn from generators seeded for the epoch; everybody else's stay.

        Not so in another thread than the main one, whose generators these are as well.
        """
        if self._draws == "never" or not seeder.may_swap():
            yield from self.sampler
            return
        outside: list[seeder.State] = []
        try:
            # Right before they are written: what another thread draws in between comes again.
            seeder.seed_all(seed, keep=lambda: outside.append(seeder.capture()))
            batches = iter(self.sampler)
            batch = next(batches, _END)
            inside = seeder.capture() if self._draws == "always" else None
        finally:
            if outside:
                seeder.restore(outside[0])
        while batch is not _END:
            yield batch
            if inside is None:
                batch = next(batches, _END)
                continue
            before = seeder.capture()
            try:
                seeder.restore(inside)
                batch = next(batches, _END)
                inside = seeder.capture()
            finally:
                seeder.restore(before)


_END = object()
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")  # as object.__repr__ has it


def _tell_when_it_draws(sampler: Any) -> str:
    inner = _find_innermost(sampler)
    if type(inner) in (Sampler, torch.utils.data.SequentialSampler):
        return "never"
    return "at once" if type(inner) in _DRAW_AT_ONCE else "always"


def _hands_out_once(sampler: Any) -> bool:
    inner = _find_innermost(sampler)
    return inner.uneven != "pad" if type(inner) is Sampler else is_handed_out_once(sampler)


def _find_innermost(sampler: Any) -> Any:
    while type(sampler) is torch.utils.data.BatchSampler:
        sampler = sampler.sampler
    return sampler


def _find_shared_order(sampler: Any) -> int | None:
    """What the batches of a samerun Sampler follow from, the same on all ranks, which each have a share.

    How many samples the ranks' batches hold together is part of it: so a position means the same samples on
    another number of ranks, and is refused with batches of another size.
    """
    inner, together = sampler, 1
    while type(inner) is torch.utils.data.BatchSampler:
        together *= inner.batch_size
        inner = inner.sampler
    if type(inner) is not Sampler:
        return None
    together *= inner.world_size
    return stream_seed(inner.seed, inner.name, inner.samples, int(inner.shuffle), together)


def _hash_batch(before: int, batch: Any) -> int:
    try:
        content = array("q", batch if isinstance(batch, (list, tuple)) else [batch]).tobytes()
    except (TypeError, OverflowError):  # a sampler may hand out anything
        _check_names(batch)
        content = repr(batch).encode("utf-8", "surrogatepass")
    return xxhash.xxh3_64_intdigest(content, before)


def _check_names(index: Any) -> None:
    """Raise UsageError for an index whose repr, by which its sample would be named, holds an address."""
    if isinstance(index, (list, tuple)):
        for item in index:
            _check_names(item)
    elif not isinstance(index, str) and _ADDRESS.search(shown := repr(index)):
        raise UsageError(
            f"the sampler hands out {shown} as an index; a sample's randomness is named by its index, and an "
            f"address is another one in each run. Give {type(index).__name__} a __repr__ that says what it "
            "is (a dataclass has one), or hand out integers or strings"
        ) from None


def _check(so_far: int | None, expected: int, epoch: int, start: int) -> None:
    if so_far != expected:
        raise StateError(
            f"the sampler does not give the first {start} batches of epoch {epoch} again, so going on would "
            "repeat some samples and lose others. It has randomness of its own that its state does not hold: "
            "give it state_dict() and load_state_dict(), or a torch.Generator, or use samerun.data.Sampler; "
            "or the data or the batch size are not what they were"
        )


# --- generators that samplers hold ----------------------------------------------------------------------


def capture_held(sampler: Any, generator: torch.Generator | None) -> dict[str, Any]:
    """What a sampler (and those inside it) and a loader's generator hold, as plain values and tensors."""
    state: dict[str, Any] = {}
    for path, holder in walk_holders(sampler):
        if callable(getattr(holder, "state_dict", None)):
            state[f"{path}.state_dict"] = holder.state_dict()
    for path, held in _walk_generators(sampler, generator):
        state[path] = _make_plain(own_generators.read(held))
    return state


def check_held(state: Mapping[str, Any], sampler: Any, generator: torch.Generator | None) -> None:
    """Raise StateError when what `capture_held` gave is of another kind of sampler."""
    own = capture_held(sampler, generator)
    if state.keys() != own.keys():
        missing, more = sorted(state.keys() - own.keys()), sorted(own.keys() - state.keys())
        raise StateError(
            f"the state and the loader's sampler do not match: the sampler lacks {missing or 'nothing'}, the "
            f"state lacks {more or 'nothing'}; build the loader as it was when the state was saved"
        )
    for path, holder in walk_holders(sampler):
        if isinstance(holder, Sampler):
            holder.check_state(state[f"{path}.state_dict"])


def restore_held(state: Mapping[str, Any], sampler: Any, generator: torch.Generator | None) -> None:
    """Put back what `capture_held` gave, or a part of it, once checked."""
    for path, holder in walk_holders(sampler):
        if f"{path}.state_dict" in state:
            holder.load_state_dict(state[f"{path}.state_dict"])
    for path, held in _walk_generators(sampler, generator):
        if path in state:
            own_generators.write(held, state[path])


def walk_holders(sampler: Any) -> Iterator[tuple[str, Any]]:
    """A sampler and those inside it, by where they are."""
    path, seen = "sampler", set()
    while sampler is not None and id(sampler) not in seen:
        seen.add(id(sampler))
        yield path, sampler
        path += ".sampler"
        inner = getattr(sampler, "sampler", None)  # not asked whether it is true: its __len__ may raise
        sampler = inner if inner is not None else getattr(sampler, "batch_sampler", None)


def _walk_generators(sampler: Any, generator: torch.Generator | None) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    if generator is not None:
        seen.add(id(generator))
        yield "generator", generator
    for path, holder in walk_holders(sampler):
        for name, value in sorted(getattr(holder, "__dict__", {}).items()):
            kinds = (torch.Generator, random.Random, numpy.random.Generator, numpy.random.RandomState)
            if isinstance(value, kinds) and id(value) not in seen:
                seen.add(id(value))
                yield f"{path}.{name}", value


def _make_plain(value: Any) -> Any:
    """numpy's states as numbers, strings, lists and dicts of these, which weights_only loading takes."""
    if isinstance(value, dict):
        return {key: _make_plain(item) for key, item in value.items()}
    if isinstance(value, numpy.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, numpy.generic) else value
