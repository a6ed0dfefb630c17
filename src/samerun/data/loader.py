"""torch's DataLoader, made exactly repeatable and resumable."""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.utils.data
from torch.utils.data import IterableDataset

from samerun.data.epoch_position import Epoch, Place
from samerun.data.keyed import Epochs, KeyedIterable, WorkerInit
from samerun.data.order import Order, capture_held, check_held, restore_held
from samerun.data.sampler import Sampler
from samerun.data.seeds import seed_or_default
from samerun.errors import StateError, UsageError
from samerun.ranks import rank, world_size
from samerun.sources.per_sample import seeder
from samerun.sources.per_sample.keying import Collate, Keyed
from samerun.streams import stream

_SCHEMA = 1
_IN_A_THREAD = (
    "this loader makes its samples (num_workers=0) in another thread than the main one, whose draws must not "
    "change: what they draw from global generators is not keyed by the sample here, and what a sampler draws "
    "not by the epoch; load with num_workers=1 or more, or draw from sample_stream()"
)
_PIPES = tuple(
    getattr(torch.utils.data, name)
    for name in ("IterDataPipe", "MapDataPipe")
    if hasattr(torch.utils.data, name)
)


class DataLoader(torch.utils.data.DataLoader[Any]):
    """A drop-in torch DataLoader whose samples and order depend on (seed, name, epoch, index) alone.

    Not on num_workers, persistent_workers, prefetch_factor, the way workers start, what was loaded before, a
    restart, or (with samerun.data.Sampler) the number of ranks. The caller's generators stay as they were.

    Takes all arguments of torch's. `seed` is by default that of the control in force, else the one last given
    to torch.manual_seed. `name` tells loaders apart: two with one seed and one name draw the same numbers for
    the same (epoch, index), so give each training set of a program its own.

    Each `iter()` begins the next epoch; samplers with `set_epoch` are told. `state_dict()` is exact after any
    batch; the next `iter()` after `load_state_dict()` goes on with the batch that follows.

    A sampler given is used as it is: its draws from global generators are keyed by the epoch, generators that
    it holds are part of the state. With `generator=`, torch's own order and seeds are drawn from it.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        seed: int | None = None,
        name: str = "data",
        **others: Any,
    ) -> None:
        self._seed_given = seed is not None
        self.seed = seed_or_default(seed)
        self.name = name
        if isinstance(dataset, _PIPES):
            raise UsageError(
                f"torch shares the items of a datapipe ({type(dataset).__name__}) out over the workers by "
                "itself, which a keyed loader cannot; use torch's own DataLoader for it, or a dataset"
            )
        self._iterable = isinstance(dataset, IterableDataset)
        if isinstance(sampler, Sampler) and seed is None:
            self.seed = sampler.seed
        elif not self._iterable and sampler is None and batch_sampler is None and generator is None:
            shuffled = bool(shuffle)
            sampler = Sampler(dataset, shuffle=shuffled, seed=self.seed, name=name, rank=0, world_size=1)
            shuffle = None
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            **others,
        )
        self._place: Place | None = None  # in the epoch begun last
        self._next: Place | None = None  # where the next iter() begins, when somebody said so
        self._told: dict[str, int] = {}  # what each set_epoch was given last, by whose it is
        self._kept: tuple[Any, Order, torch.Tensor] | None = None  # the iterator of persistent workers

    # --- epochs ------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The epoch under way; between two epochs, the next one."""
        return (self._next or self._place or Place(0)).epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next `iter()` begin this epoch.

        A position in it that `load_state_dict` has just brought is kept: training loops set the epoch that
        they resume in.
        """
        epoch = operator.index(epoch)
        if self._next is None or self._next.epoch != epoch:
            self._next = Place(epoch)

    def __iter__(self) -> Any:
        return Epoch(self._begin, self.__len__)

    def _begin(self) -> tuple[Any, Order, Place, int]:
        """With the first batch: a sampler may still be told its epoch after `iter()`, as Lightning does.

        Returns torch's iterator, the order it follows, the place, and the batches of an iterable dataset that
        the training has had.
        """
        place = self._next or Place(self._asked(self._following()))
        self._teller()(place.epoch)
        if place.held is not None:
            restore_held(place.held, self._index_sampler, self.generator)
            self._teller()(place.epoch)
        place.held = capture_held(self._index_sampler, self.generator)
        self._next, self._place = None, place
        inner, order = self._begun(place)
        return inner, order, place, place.batch if self._iterable else 0

    def _following(self) -> int:
        """The epoch after the last one, be that complete or left in the middle."""
        if self._place is None:
            return 0
        return self._place.epoch + (self._place.held is not None)

    def _asked(self, expected: int) -> int:
        """The next epoch: the user's own when a sampler was told one since we told it."""
        for name, holder in self._told_about_epochs().items():
            epoch = getattr(holder, "epoch", None)
            if isinstance(epoch, int) and epoch != self._told.get(name, 0):
                return epoch
        return expected

    def _told_about_epochs(self) -> dict[str, Any]:
        inner = getattr(self.batch_sampler, "sampler", None)
        named = {
            "sampler": self.sampler,
            "batch_sampler": self.batch_sampler,
            "batch_sampler.sampler": inner,
            "dataset": self.dataset,
        }
        once = {id(holder): name for name, holder in reversed(named.items())}
        return {
            name: holder
            for name, holder in named.items()
            if once[id(holder)] == name and callable(getattr(holder, "set_epoch", None))
        }

    def _teller(self) -> Callable[[int], None]:
        """What tells them; it does not hold this loader, whose workers shall end when nobody else does."""
        holders, told = self._told_about_epochs(), self._told

        def tell(epoch: int) -> None:
            for name, holder in holders.items():
                holder.set_epoch(epoch)
                told[name] = epoch

        return tell

    def __getstate__(self) -> dict[str, Any]:
        """For copies, which start workers of their own."""
        return {**vars(self), "_kept": None, "_told": dict(self._told)}

    # --- iterators ---------------------------------------------------------------------------------

    def _begun(self, place: Place) -> tuple[Any, Order]:
        """torch's own iterator, over this loader as we show it to torch, and the order that it follows."""
        if not self.num_workers and not seeder.may_swap():
            warnings.warn(_IN_A_THREAD, RuntimeWarning, stacklevel=4)
        start, expected = (0, 0) if self._iterable else (place.batch, place.order)
        if self._kept is not None:
            inner, order, epoch = self._kept
            epoch[0] = place.epoch
            order.follow(place.epoch, start, expected)
            inner._reset(self)  # reads nothing of the loader but what stays the same
            return inner, order
        above = stream(self.seed, self.name)
        order = Order(self._index_sampler, above, self._auto_collation, self.dataset, self._teller())
        order.follow(place.epoch, start, expected)
        epoch = torch.tensor([place.epoch])
        if self._iterable and self.num_workers:
            epoch.share_memory_()  # type: ignore[no-untyped-call]
        shown: Any = copy.copy(self)
        keyed: Any = Keyed(self.dataset)
        if self._iterable:
            keyed = KeyedIterable(self.dataset, Epochs(above, epoch), rank())
        vars(shown).update(
            {
                "dataset": keyed,
                "batch_sampler" if self._auto_collation else "sampler": order,
                "collate_fn": Collate(self.collate_fn),
                "worker_init_fn": WorkerInit(self.worker_init_fn),
            }
        )
        if self.generator is None:  # torch would draw the workers' base seed from the caller's generator
            vars(shown)["generator"] = above.child(place.epoch, "base_seed").torch()
        inner = torch.utils.data.DataLoader._get_iterator(shown)
        if self.persistent_workers and self.num_workers:
            self._kept = inner, order, epoch
        return inner, order

    # --- state -------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where this loader is, to the batch, as plain values and tensors (of generators that it holds).

        Raises StateError with in_order=False, where batches have no place.
        """
        if not getattr(self, "in_order", True):
            raise StateError(
                "with in_order=False batches arrive in any order and have no place; leave it True"
            )
        place = self._next or self._place or Place(0)
        held = place.held
        if held is None:  # not begun: it will begin with what they hold now
            held = capture_held(self._index_sampler, self.generator)
        return {
            "schema": _SCHEMA,
            "seed": self.seed,
            "name": self.name,
            "batches": self._batches(),
            "shards": self._shards(),
            "epoch": place.epoch,
            "batch": place.batch,
            "order": place.order,
            "held": copy.deepcopy(held),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state with the next `iter()`.

        Raises StateError, and leaves the loader as it is, for a state that lacks something or that is of
        another seed, name, number of batches or sampler.
        """
        wanted = ("schema", "seed", "name", "batches", "shards", "epoch", "batch", "order", "held")
        if not isinstance(state, Mapping):
            raise StateError(
                f"the loader's state is a {type(state).__name__}, no dict; was it saved by state_dict()?"
            )
        lacking = [key for key in wanted if key not in state]
        if lacking:
            raise StateError(f"the loader's state lacks {', '.join(lacking)}; was it saved by state_dict()?")
        odd = [key for key in ("epoch", "batch") if type(state[key]) is not int or state[key] < 0]
        if odd:
            raise StateError(f"the loader's state has {odd[0]} {state[odd[0]]!r}, which is no count")
        own = {
            "schema": _SCHEMA,
            "name": self.name,
            "batches": self._batches(),
            "shards": self._shards(),
        }
        if self._seed_given:
            own["seed"] = self.seed
        for key, value in own.items():
            if state[key] != value:
                raise StateError(
                    f"the state is of a loader with {key} {state[key]!r}, this one has {value!r}; build it "
                    "as it was when the state was saved"
                )
        check_held(state["held"], self._index_sampler, self.generator)
        self.seed = state["seed"]
        if self._kept is not None:  # its workers have the seed that they were started with
            self._kept[0]._shutdown_workers()
            self._kept = None
        place = {key: copy.deepcopy(state[key]) for key in ("epoch", "batch", "order", "held")}
        self._next = Place(**place)

    def _shards(self) -> list[int | None] | None:
        """What the items of an iterable dataset depend on: workers, ranks and the size of a batch."""
        return [self.num_workers, world_size(), self.batch_size] if self._iterable else None

    def _batches(self) -> int | None:
        try:
            return len(self._index_sampler)
        except (TypeError, NotImplementedError):
            return None
