"""torch's own DataLoaders under control: what datasets draw is keyed by the sample, not by who fetches it.

A pass (an `iter()` of a loader, or an epoch of persistent workers) has a stream, and each sample of a
map-style dataset one below it, by its index and by how often the pass handed that index out before
(passes.py, keying.py). So a sample is the same whatever num_workers, persistent_workers and prefetch_factor.
An iterable dataset has a stream for each worker.

A pass is named by what makes it differ in the plain program:

- the base seed that torch draws for it, from the loader's generator or the default one. Restored generators
  (a checkpoint that is exact) bring the pass back; another seed of the script gives other samples.
- or the epoch that its sampler was told (`set_epoch`, above 0), by which a resumed training says where it is:
  then, with torch's last seed, the first pass of that epoch.

Both with how often the process has met that name before, and with the share where a sampler gives one to each
rank (`DistributedSampler`). Ranks that have no such sampler draw alike where the script seeded them alike, as
in the plain program: they may share what they load (tensor parallelism, a validation that each makes whole).

A pass that would draw the same numbers as an earlier one in the plain program does so too (a validation that
is seeded, a trial that is repeated): with workers where the base seed and the order are the same; without
them, generator by generator, where that one has the same state, and as many passes have drawn from it since
it was seeded. The draw of the base seed and what workers are seeded with stay torch's own.

How it gets to a worker: each batch of indices carries its stream. `KeyedInit` stands in for the loader's
worker_init_fn while the workers are started; it is pickled, so that it works by fork and by spawn, patches
the fetchers there, and calls the user's own.
"""

from __future__ import annotations

import functools
import multiprocessing
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from samerun.ranks import world_size
from samerun.sources.patching import attribute
from samerun.sources.per_sample import seeder
from samerun.sources.per_sample.begun_states import Begun, BegunStates, make_begun_states
from samerun.sources.per_sample.keying import Collate, Keyed, KeyedIterable
from samerun.sources.per_sample.pass_streams import PassStreams
from samerun.sources.per_sample.passes import Pass, is_handed_out_once
from samerun.sources.per_sample.samplers import find_samplers
from samerun.sources.per_sample.seeder import Apart, find_apart
from samerun.sources.source import Undo
from samerun.streams import Name, Stream, stream_seed

_MOST_KNOWN = 10_000  # what passes drew from; the oldest is forgotten
_MOST_BEGUN = 1_000  # a page of memory each
_controls: list[_InForce] = []  # the last one counts
_unpatch: Undo | None = None
_worker: _Worker | None = None  # in a worker


class _FetcherStream(threading.local):
    """The stream of the iterable dataset whose fetcher this thread is about to make."""

    above: PassStreams | None = None


_making = _FetcherStream()


@dataclass(frozen=True)
class KeyedInit:
    """The worker_init_fn of a controlled loader: brings along what it needs, then runs the user's own."""

    seed: int  # of the control
    above: PassStreams | None  # of the first pass over an iterable dataset
    users: Callable[[int], None] | None
    among_ranks: bool  # that may share the data, or seed their workers apart
    begun: BegunStates | None  # where what the user's leaves is noted
    entropy: int  # what keeps the main process's samples apart; generators are seeded by torch in a worker

    def __call__(self, worker_id: int) -> None:
        """Called in the worker, once, before it makes its first fetcher."""
        global _worker
        install(self.seed)  # for as long as the worker lives
        _worker = _Worker(self.above, Apart((), self.entropy))
        if self.users is None:
            return
        seeded = seeder.digest_states() if self.among_ranks else ()
        self.users(worker_id)
        begun = Begun(worker_id, seeder.digest_states(), seeded)
        if self.begun is not None:
            self.begun.write(begun)
        _worker.apart = _worker.apart._replace(begun=begun)


class _Worker:
    """In a worker: the streams of each pass over an iterable dataset; a fetcher is made for each."""

    def __init__(self, above: PassStreams | None, apart: Apart) -> None:
        self.apart = apart
        self._above = above
        self._passes = 0

    def next(self) -> PassStreams:
        """Of the next pass."""
        assert self._above is not None
        self._passes += 1
        return self._above.child("later", self._passes - 1) if self._passes > 1 else self._above


class _InForce:
    """One control; it counts for itself, so that nested ones repeat too."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._met: Counter[tuple[Name, ...]] = Counter()
        self._known: OrderedDict[tuple[Any, ...], Stream] = OrderedDict()  # by what passes drew from
        self._begun: OrderedDict[tuple[Any, ...], BegunStates] = OrderedDict()  # likewise, of the first

    def name_pass(self, of: _Begin, first: int, begun: BegunStates | None) -> PassStreams:
        """The streams of a pass, of whose first indices this is a hash."""
        if of.in_workers:  # torch seeds all three from the base seed
            drawn_from: list[tuple[Any, ...]] = [(of._replace(kind=""), first)] * 3
        else:
            drawn_from = [(of.share, of.epoch, first, *place) for place in seeder.find_places()]
            if seeder.may_swap():  # when another thread begins one is another time in each run
                seeder.note_pass()
        entropy = 0
        if drawn_from[0] in self._known:
            entropy = stream_seed(0, "pass", "entropy", self._meet("known", hash(drawn_from[0])) + 1)
        first_begun = self._begun.get(drawn_from[0])
        if begun is not None and first_begun is None:
            self._begun[drawn_from[0]] = begun
        if any(each not in self._known for each in drawn_from):
            for each, new in zip(drawn_from, self._name_each(of), strict=True):
                self._known.setdefault(each, new)
        torch, python, numpy = (self._known[each] for each in drawn_from)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        while len(self._begun) > _MOST_BEGUN:
            self._begun.popitem(last=False)
        return PassStreams(torch, python, numpy, entropy, first_begun.read() if first_begun else ())

    def _name_each(self, of: _Begin) -> tuple[Stream, Stream, Stream]:
        """Of a new pass: torch's stream, Python's and NumPy's."""
        new = self._name_new(of)
        if of.in_workers or of.share is not None or world_size() == 1:
            return new, new, new
        # Ranks may have seeded one apart and another alike: Python's and NumPy's by their own places.
        _, *states = seeder.digest_states()
        _, passes = seeder.get_origins()
        ids = seeder.IDS[1:]
        python, numpy = (
            Stream(self.seed, "worker", "at", id_, state, passes[id_])
            for id_, state in zip(ids, states, strict=True)
        )
        return new, python, numpy

    def _name_new(self, of: _Begin) -> Stream:
        here = of.share or 0
        if of.epoch and not self._meet("epoch", here, of.epoch):
            return Stream(self.seed, "worker", "epoch", here, _get_torch_seed(), of.epoch)
        first = Stream(self.seed, "worker", "pass", here, of.base_seed)
        before = self._meet("pass", here, of.base_seed, of.later, of.in_workers, of.kind)
        stream = first.child("again", before) if before else first
        return stream.child("later", of.later) if of.later else stream

    def forget_passes(self) -> None:
        """What comes now is as if in a new process."""
        self._met.clear()
        self._known.clear()
        self._begun.clear()

    def _meet(self, *name: Name) -> int:
        """How often this name was met before."""
        self._met[name] += 1
        return self._met[name] - 1


class _Begin(NamedTuple):
    """What a pass begins with."""

    base_seed: int  # that torch drew for it
    later: int  # how many passes its iterator made before it, where workers persist
    epoch: int  # that a sampler was set to
    in_workers: bool
    share: int | None  # of the data that it goes over; None: no sampler is known to share it out
    kind: str  # of the loader: a pass of another one, in `isolate_rng()`, say, does not count for this one


def _get_torch_seed() -> int:
    import torch

    return torch.default_generator.initial_seed()


def seed_in_force() -> int | None:
    """The seed of the control that keys DataLoaders here, None when there is none."""
    return _controls[-1].seed if _controls else None


def forget_passes() -> None:
    """Of those that began here: what comes now is as if in a new process."""
    for each in _controls:
        each.forget_passes()


def install(seed: int) -> Undo:
    """Key every DataLoader that is iterated from now on."""
    global _unpatch
    if _unpatch is None:
        _unpatch = _patch_loading()
    mine = _InForce(seed)
    _controls.append(mine)

    def undo() -> None:
        global _unpatch
        _controls.remove(mine)
        if not _controls and _unpatch is not None:
            _unpatch()
            _unpatch = None

    return undo


def _patch_loading() -> Undo:
    from torch.utils.data import dataloader

    base, many = dataloader._BaseDataLoaderIter, dataloader._MultiProcessingDataLoaderIter
    init: Any = base.__init__
    reset: Any = base._reset
    many_init: Any = many.__init__
    undos: list[Undo] = []
    handing_out: set[type] = set()

    def hand_out(owner: type) -> None:
        if owner not in handing_out:
            handing_out.add(owner)
            undos.append(_hand_out_in(owner))

    @functools.wraps(init)
    def init_base(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if not _keys_itself(self._dataset):
            _key(self, args[0] if args else kwargs["loader"], hand_out)

    @functools.wraps(many_init)
    def init_many(self: Any, *args: Any, **kwargs: Any) -> None:
        loader = args[0] if args else kwargs["loader"]
        users = loader.worker_init_fn
        try:
            many_init(self, *args, **kwargs)
        finally:
            keyed = loader.worker_init_fn
            if keyed is not users:
                loader.worker_init_fn = users
            if isinstance(keyed, KeyedInit) and keyed.begun is not None:
                keyed.begun.close_file()

    @functools.wraps(reset)
    def reset_base(self: Any, *args: Any, **kwargs: Any) -> None:
        reset(self, *args, **kwargs)
        if hasattr(self, "_samerun_pass"):
            loader = args[0] if args else kwargs["loader"]
            first = args[1] if len(args) > 1 else kwargs.get("first_iter", False)
            _begin(self, loader, self._samerun_later + (not first))

    undos += [
        attribute.replace(base, "__init__", init_base),
        attribute.replace(base, "_reset", reset_base),
        attribute.replace(many, "__init__", init_many),
        _patch_fetchers(dataloader._DatasetKind),
    ]
    return lambda: attribute.undo_all(undos)()


def _key(iterator: Any, loader: Any, hand_out: Callable[[type], None]) -> None:
    """Have what an iterator, which was just made, takes from its dataset keyed by the sample."""
    from torch.utils.data import dataloader

    own = isinstance(iterator, dataloader._MultiProcessingDataLoaderIter)
    users = loader.worker_init_fn
    begun = make_begun_states(iterator._num_workers) if own and users is not None else None
    iterator._samerun_begun = begun
    is_iterable = iterator._dataset_kind == dataloader._DatasetKind.Iterable
    if is_iterable:
        if type(iterator) is dataloader._SingleProcessDataLoaderIter:
            _making.above = _name_iterable(iterator, loader, None)
    elif own or iterator._num_workers == 0 or _forks(loader):  # others' workers may lack our fetchers
        hand_out(_find_owner(type(iterator)))
        _begin(iterator, loader, 0)
    if own:
        above = _name_iterable(iterator, loader, begun) if is_iterable else None
        entropy = find_apart().entropy
        among = world_size() > 1 and find_samplers(loader).find_share() is None
        loader.worker_init_fn = KeyedInit(_controls[-1].seed, above, users, among, begun, entropy)


def _forks(loader: Any) -> bool:
    """Whether its workers are forked, and so see what is patched here."""
    context = loader.multiprocessing_context or multiprocessing
    return bool(context.get_start_method() == "fork")


def _begin(iterator: Any, loader: Any, later: int) -> None:
    """A pass over a map-style dataset begins; it is named when the first indices are handed out."""
    iterator._samerun_later = later
    # Not the iterator, and not the loader, which may hold it: nothing of ours may keep its workers alive.
    base_seed, samplers, in_workers = iterator._base_seed, find_samplers(loader), iterator._num_workers > 0
    begun, kind = iterator._samerun_begun, _describe_kind(loader)

    def name(first: int) -> PassStreams:
        of = _Begin(base_seed, later, samplers.find_epoch(), in_workers, samplers.find_share(), kind)
        return _controls[-1].name_pass(of, first, begun)

    iterator._samerun_pass = Pass(
        name,
        iterator._dataset,
        batched=iterator._auto_collation,
        once=is_handed_out_once(iterator._index_sampler),
    )


def _name_iterable(iterator: Any, loader: Any, begun: BegunStates | None) -> PassStreams:
    epoch = find_samplers(loader).find_epoch()
    of = _Begin(iterator._base_seed, 0, epoch, iterator._num_workers > 0, None, _describe_kind(loader))
    return _controls[-1].name_pass(of, 0, begun)


def _describe_kind(loader: Any) -> str:
    """What a loader that is made anew in each epoch has in common with the one before.

    "" for all that have a generator of their own: two of them may be seeded alike, and are to draw apart; no
    state that is put back makes them begin alike.
    """
    if getattr(loader, "generator", None) is not None:
        return ""
    kinds = [
        type(getattr(loader, name, None)).__qualname__ for name in ("dataset", "sampler", "batch_sampler")
    ]
    return " ".join([*kinds, repr(getattr(loader, "batch_size", None))])


def _find_owner(kind: type) -> type:
    """The class that says where iterators of this kind take their indices from."""
    return next(each for each in kind.__mro__ if "_next_index" in vars(each))


def _hand_out_in(owner: type) -> Undo:
    original: Any = vars(owner)["_next_index"]

    @functools.wraps(original)
    def _next_index(self: Any, *args: Any, **kwargs: Any) -> Any:
        indices = original(self, *args, **kwargs)
        passing = getattr(self, "_samerun_pass", None)
        if passing is None or not _controls or _find_owner(type(self)) is not owner:
            return indices
        return passing.hand_out(indices)

    return attribute.replace(owner, "_next_index", _next_index)


def _patch_fetchers(kinds: Any) -> Undo:
    """Let fetchers see their dataset and collate_fn as we show them, in the main process and in workers."""
    original: Any = kinds.create_fetcher

    @functools.wraps(original)
    def create_fetcher(
        kind: Any, dataset: Any, auto_collation: Any, collate_fn: Any, *args: Any, **kwargs: Any
    ) -> Any:
        above, _making.above = _making.above, None
        shown: Any = None
        if _keys_itself(dataset):
            pass
        elif kind != kinds.Iterable:
            shown = Keyed(dataset, apart=_find_apart)
        elif above is not None:
            shown = _make_iterable(dataset, above)
        elif _worker is not None:
            shown = _make_iterable(dataset, _worker.next())
        if shown is not None:
            dataset, collate_fn = shown, Collate(collate_fn, apart=_find_apart)
        return original(kind, dataset, auto_collation, collate_fn, *args, **kwargs)

    return attribute.replace(kinds, "create_fetcher", staticmethod(create_fetcher))


def _make_iterable(dataset: Any, above: PassStreams) -> KeyedIterable:
    return KeyedIterable(dataset, lambda: above, 0, apart=_find_apart)


def _find_apart() -> Apart:
    """Of this process; in a worker, of the one whose samples it makes."""
    return find_apart() if _worker is None else _worker.apart


def _keys_itself(dataset: Any) -> bool:
    """Whether it is a dataset as samerun.data.DataLoader shows it to torch."""
    return getattr(dataset, "samerun_keyed", False) is True
