"""Covers `keyed.py` and `seeds.py`."""

from __future__ import annotations

import copy
import io
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import samples
import torch
from samples import Images, sample_digests
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    get_worker_info,
)

import samerun
from samerun.data import DataLoader, Sampler, sample_stream
from samerun.digest import digest_value
from samerun.errors import StateError, UsageError


def states() -> Any:
    return digest_value([random.getstate(), np.random.get_state(), torch.get_rng_state()])


def indices(loader: Any) -> list[list[int]]:
    return [batch["index"].tolist() for batch in loader]


def loader(**options: Any) -> DataLoader:
    return DataLoader(Images(), **{"batch_size": 8, "shuffle": True, "seed": 5, **options})


# --- what it promises -----------------------------------------------------------------------------------


def test_the_order_is_the_samplers() -> None:
    sampler = Sampler(samples.SAMPLES, seed=5)
    ours = loader()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        assert [index for batch in indices(ours) for index in batch] == list(sampler)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_callers_generators_are_left_alone(workers: int) -> None:
    before = states()
    for sampler in (None, RandomSampler(Images()), Drawing(samples.SAMPLES)):
        sample_digests(loader(num_workers=workers, sampler=sampler, shuffle=None if sampler else True), 1)
    assert states() == before
    random.random()
    assert states() != before


def test_what_was_drawn_before_does_not_matter() -> None:
    first = sample_digests(loader())
    random.random(), np.random.rand(3), torch.rand(3)
    list(torch.utils.data.DataLoader(range(9), shuffle=True))  # pytorch#36998: an unused loader
    assert sample_digests(loader()) == first


def test_seed_name_and_epoch_each_change_everything() -> None:
    base = sample_digests(loader(), 2)
    for other in (
        sample_digests(loader(seed=4), 1)[0],
        sample_digests(loader(name="other"), 1)[0],
        base[1],
    ):
        flat = [sample for batch in other for sample in batch]
        assert [i for i, _ in flat] != [i for batch in base[0] for i, _ in batch]
        assert not {d for _, d in flat} & {d for batch in base[0] for _, d in batch}


def test_without_a_seed_it_is_that_of_the_control_or_of_torch() -> None:
    with samerun.control(seed=9):
        controlled = loader(seed=None)
    assert controlled.seed == 9
    with samerun.isolate_rng():
        torch.manual_seed(11)
        assert loader(seed=None).seed == 11
    assert loader(seed=None, shuffle=None, sampler=Sampler(samples.SAMPLES, seed=3)).seed == 3


def test_under_control_it_keeps_its_own_keys() -> None:
    plain = sample_digests(loader(), 1)
    with samerun.control(seed=9):
        assert sample_digests(loader(), 1) == plain
        assert sample_digests(loader(num_workers=1), 1) == plain


@pytest.mark.parametrize("workers", [0, 1])
def test_streams_for_those_who_ask(workers: int) -> None:
    drawn = [batch["noise"].tolist() for batch in DataLoader(Asking(), 4, num_workers=workers, seed=1)]
    expected = [samerun.stream(1, "data", 0, "sample", i, "noise").numpy().random() for i in range(8)]
    assert [value for batch in drawn for value in batch] == expected
    with pytest.raises(UsageError, match="no sample is being made"):
        sample_stream()


class Asking(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, float]:
        return {"noise": float(sample_stream("noise").numpy().random())}


class Anything(torch.utils.data.Dataset):
    """Takes any index."""

    def __getitem__(self, index: Any) -> tuple[str, float, float]:
        return str(index), random.random(), float(sample_stream("noise").numpy().random())


def test_a_sample_is_its_index_whatever_type_that_has_and_whoever_is_in_its_batch() -> None:
    def drawn(*indices: Any, batch_size: int | None = 4) -> list[Any]:
        ours = DataLoader(Anything(), batch_size, sampler=list(indices), collate_fn=lambda made: made, seed=1)
        return [one for batch in ours for one in (batch if batch_size else [batch])]

    plain = drawn(0, 1, 2, 3)
    assert len({value for sample in plain for value in sample[1:]}) == 8
    assert drawn(3, 2, 1, 0)[::-1] == plain
    assert drawn(np.int64(0), 1, np.uint8(2), 3) == plain
    assert [drawn(n, batch_size=None)[0] for n in range(4)] == plain
    mixed = drawn("a", 1, (2, "b"), 3, -1, 2**64)
    assert (mixed[1], mixed[3]) == (plain[1], plain[3])
    assert drawn(2**64, "a", -1, (2, "b")) == [mixed[n] for n in (5, 0, 4, 2)]
    assert len({value for sample in [*mixed, *plain] for value in sample[1:]}) == 16


# --- everything of torch's loader keeps working ---------------------------------------------------------


class Drawing(torch.utils.data.Sampler[int]):
    """Draws from the global generators all along."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[int]:
        for _ in range(self.samples):
            yield (random.randrange(self.samples) + int(np.random.randint(3))) % self.samples

    def __len__(self) -> int:
        return self.samples


class Holding(torch.utils.data.Sampler[list[int]]):
    """A batch sampler with generators of its own, which go on from epoch to epoch (DeepSpeed#8460)."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.rng = np.random.default_rng(0)
        self.old = np.random.RandomState(1)
        self.python = random.Random(2)

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(len(self)):
            yield [
                int(self.rng.integers(self.samples)),
                self.python.randrange(self.samples),
                int(self.old.randint(self.samples)),
            ]

    def __len__(self) -> int:
        return 6


class Stateful(Holding):
    """The same, hidden where nobody looks, but with a state."""

    def __init__(self, samples: int) -> None:
        super().__init__(samples)
        self.hidden, self.rng, self.old, self.python = [self.rng], None, None, None

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(len(self)):
            yield self.hidden[0].integers(self.samples, size=3).tolist()

    def state_dict(self) -> dict[str, Any]:
        return {"bits": self.hidden[0].bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.hidden[0].bit_generator.state = state["bits"]


MAKERS = {
    "plain": lambda: loader(),
    "in order": lambda: loader(shuffle=False),
    "random": lambda: loader(shuffle=None, sampler=RandomSampler(Images())),
    "replacement": lambda: loader(
        shuffle=None, sampler=RandomSampler(Images(), replacement=True, num_samples=30)
    ),
    "weighted": lambda: loader(
        shuffle=None, sampler=WeightedRandomSampler(torch.arange(1.0, 41), 40, replacement=True)
    ),
    "subset": lambda: loader(shuffle=None, sampler=SubsetRandomSampler(range(10, 30))),
    "batch sampler": lambda: DataLoader(
        Images(), batch_sampler=BatchSampler(RandomSampler(Images()), 7, True), seed=5
    ),
    "generator": lambda: loader(generator=torch.Generator().manual_seed(3)),
    "sampler's generator": lambda: loader(
        shuffle=None, sampler=RandomSampler(Images(), generator=torch.Generator().manual_seed(3))
    ),
    "distributed": lambda: loader(shuffle=None, sampler=DistributedSampler(Images(), 2, 1)),
    "drawing": lambda: loader(shuffle=None, sampler=Drawing(30)),
    "holding": lambda: DataLoader(Images(), batch_sampler=Holding(40), seed=5),
    "stateful": lambda: DataLoader(Images(), batch_sampler=Stateful(40), seed=5),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_any_sampler_resumes_after_any_batch(make: Any) -> None:
    random.seed(0)
    whole = sample_digests(make(), 3)
    flat = [batch for epoch in whole for batch in epoch]
    if make is not MAKERS["in order"]:
        assert whole[0] != whole[1]
    random.seed(1)
    for stop in range(1, 2 * len(whole[0]) + 2):
        first, received, state = make(), 0, None
        while state is None:
            for _ in first:
                received += 1
                if received == stop:
                    state = first.state_dict()
                    break
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        second = make()
        second.load_state_dict(torch.load(file, weights_only=True))
        went_on: list[Any] = []
        while len(went_on) < len(flat) - stop:
            went_on += sample_digests(second, 1)[0]
        assert went_on[: len(flat) - stop] == flat[stop:]


def test_state_between_two_epochs_and_before_the_first() -> None:
    whole = sample_digests(loader(), 3)
    first = loader()
    second = loader()
    second.load_state_dict(first.state_dict())
    assert sample_digests(second) == whole
    sample_digests(first, 1)
    assert first.epoch == 1
    second.load_state_dict(first.state_dict())
    assert sample_digests(second, 2) == whole[1:]


def test_set_epoch_keeps_a_position_in_that_epoch_that_was_loaded() -> None:
    """As trainers do at the start of every epoch, the one that they resume in included."""
    half = loader()
    whole = indices(loader())
    assert next(iter(half))["index"].tolist() == whole[0]
    resumed = loader()
    resumed.load_state_dict(half.state_dict())
    resumed.set_epoch(resumed.epoch)
    assert indices(resumed) == whole[1:]
    assert resumed.epoch == 1
    resumed.load_state_dict(half.state_dict())
    resumed.set_epoch(1)  # another one: from its start
    second = indices(resumed)
    assert len(second) == len(whole) and second != whole
    left = iter(half)
    next(left)
    half.set_epoch(half.epoch)  # nothing was loaded: the epoch again
    assert indices(half) == second


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("workers", [0, 1])
def test_a_copy_goes_on_from_where_the_loader_was(copied: Any, workers: int) -> None:
    ours = loader(num_workers=workers, persistent_workers=bool(workers))
    epochs = [indices(ours), indices(ours)]
    other = copied(ours)
    third = indices(other)
    assert third == indices(ours) and third not in epochs
    assert indices(other) == indices(ours)
    half = iter(other)
    next(half)
    again = loader()
    again.load_state_dict(copied(other).state_dict())
    assert indices(again) == [batch["index"].tolist() for batch in half]


class Growing(Images):
    size = samples.SAMPLES

    def __len__(self) -> int:
        return self.size


@pytest.mark.parametrize("shuffle", [False, True])
def test_data_may_grow_or_shrink_between_two_epochs(shuffle: bool) -> None:
    data = Growing()
    ours = DataLoader(data, 8, shuffle=shuffle, seed=5)
    for size in (samples.SAMPLES, 23, 24, 9):
        data.size = size
        assert len(ours) == -(-size // 8)
        seen = [index for batch in indices(ours) for index in batch]
        assert sorted(seen) == list(range(size))
    state = ours.state_dict()
    data.size = 40
    with pytest.raises(StateError):
        ours.load_state_dict(state)
    fresh = Growing()
    fresh.size = 23
    there = DataLoader(fresh, 8, shuffle=shuffle, seed=5)
    there.set_epoch(1)
    data.size = 23
    ours.set_epoch(1)
    assert indices(there) == indices(ours)  # the order of so many, whatever there was before


def test_a_length_that_no_list_can_have() -> None:
    class Virtual(torch.utils.data.Dataset[int]):
        def __len__(self) -> int:
            return 10**12

        def __getitem__(self, index: int) -> int:
            return index

    ours = DataLoader(Virtual(), 4, seed=0)
    batches = iter(ours)
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    again = DataLoader(Virtual(), 4, seed=0)
    again.load_state_dict(ours.state_dict())
    assert next(iter(again)).tolist() == [8, 9, 10, 11]
    with pytest.raises(UsageError, match="takes 14901 GiB"):
        next(iter(DataLoader(Virtual(), 4, shuffle=True, seed=0)))


def test_persistent_workers_take_a_state() -> None:
    whole = sample_digests(loader(), 2)
    kept = loader(num_workers=2, persistent_workers=True)
    for number, _ in enumerate(kept):
        if number == 1:
            state = kept.state_dict()
            break
    assert sample_digests(kept, 1) == whole[1:]  # a loop that was left begins the next epoch
    kept.load_state_dict(state)
    assert sample_digests(kept, 2) == [whole[0][2:], whole[1]]


def test_workers_end_with_their_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 60)
    kept = DataLoader(Stream(), 5, num_workers=2, persistent_workers=True, seed=1)
    next(iter(kept))
    workers = kept._kept[0]._workers
    del kept
    assert [worker.exitcode for worker in workers] == [0, 0]  # torch kills one that does not end in time


def test_two_iterators_at_once_are_two_epochs() -> None:
    whole = sample_digests(loader(), 2)
    ours = loader()
    pairs = list(zip(ours, ours, strict=True))
    for epoch, got in zip(whole, zip(*pairs, strict=True), strict=True):
        assert [batch["index"].tolist() for batch in got] == [[i for i, _ in batch] for batch in epoch]


@pytest.mark.parametrize("persistent", [False, True])
def test_the_users_worker_init_fn_is_called_and_sees_the_users_dataset(persistent: bool) -> None:
    ours = loader(num_workers=1, worker_init_fn=note_worker, persistent_workers=persistent)
    assert {label for batch in ours for label in batch["noted"].tolist()} == {1}


def note_worker(worker_id: int) -> None:
    info = get_worker_info()
    assert info is not None and type(info.dataset) is Images
    Images.__getitem__ = noted  # type: ignore[method-assign]


def noted(self: Images, index: int) -> dict[str, int]:
    return {"noted": 1}


def test_collate_fn_is_keyed_too() -> None:
    def collate(batch: list[Any]) -> float:
        return random.random() + len(batch)

    first, second = (list(loader(collate_fn=collate)) for _ in range(2))
    assert first == second
    assert len(set(first)) == 5
    assert type(next(iter(loader(collate_fn=lambda batch: batch)))) is list


def test_without_batches() -> None:
    def one_by_one(workers: int) -> dict[int, str]:
        made = loader(batch_size=None, num_workers=workers)
        return {sample["index"]: digest_value(sample).hex() for sample in made}

    found = one_by_one(0)
    assert found == one_by_one(1)
    assert sorted(found) == list(range(samples.SAMPLES)) and len(set(found.values())) == samples.SAMPLES


class Together(TensorDataset):
    def __getitems__(self, which: list[int]) -> list[Any]:
        noise = torch.rand(len(which))
        return [(index, noise[n]) for n, index in enumerate(which)]


def test_datasets_that_make_whole_batches() -> None:
    first, second = (
        [b for b in DataLoader(Together(torch.zeros(12)), 4, shuffle=True, seed=1, num_workers=w)]
        for w in (0, 2)
    )
    assert digest_value(first) == digest_value(second)


def test_a_users_set_epoch_is_followed() -> None:
    whole = sample_digests(loader(), 4)
    sampler = Sampler(samples.SAMPLES, seed=5)
    ours = loader(shuffle=None, sampler=sampler)
    sampler.set_epoch(3)
    assert sample_digests(ours, 1) == whole[3:]
    ours.set_epoch(1)
    assert sample_digests(ours, 2) == whole[1:3]
    torchs = DistributedSampler(Images(), 2, 0, seed=7)
    sample_digests(loader(shuffle=None, sampler=torchs), 3)
    assert torchs.epoch == 2  # nobody has to remember


class Stream(IterableDataset):
    def __init__(self, items: int = 24) -> None:
        self.items = items

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        for index in range(worker, self.items, workers):
            yield {"index": index, "image": torch.rand(2) + random.random() + np.random.rand()}


@pytest.mark.parametrize("workers", [0, 2])
def test_iterable_datasets_repeat_and_resume(workers: int) -> None:
    def make() -> DataLoader:
        return DataLoader(Stream(), 5, num_workers=workers, persistent_workers=workers > 0, seed=1)

    before = states()
    whole = sample_digests(make(), 2)
    assert states() == before
    assert sample_digests(make(), 2) == whole
    assert not {d for b in whole[0] for _, d in b} & {d for b in whole[1] for _, d in b}
    for stop in (1, 3, 4):
        first = make()
        for number, _ in enumerate(first):
            if number + 1 == stop:
                state = first.state_dict()
                break
        second = make()
        second.load_state_dict(state)
        assert sample_digests(second, 2) == [whole[0][stop:], whole[1]]
    fewer = DataLoader(Stream(10), 5, num_workers=workers, seed=1)
    fewer.load_state_dict(state)
    with pytest.raises(StateError, match="the dataset gave fewer"):
        next(iter(fewer))


class Nested(torch.utils.data.Dataset):
    """A sample that loads others, and generators without a seed."""

    def __init__(self, inner: bool = False) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> dict[str, Any]:
        first = random.random()
        if self.inner:
            list(DataLoader(Images(4), 2, seed=1))
        name = str(sample_stream("after"))
        return {"index": index, "drawn": first + random.random() + float(np.random.rand()), "name": name}


@pytest.mark.parametrize("workers", [0, 1])
def test_a_sample_that_loads_others_stays_itself(workers: int) -> None:
    plain = sample_digests(DataLoader(Nested(), 2, seed=3), 1)
    assert sample_digests(DataLoader(Nested(inner=True), 2, seed=3, num_workers=workers), 1) == plain


class Unseeded(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, Any]:
        two = [float(np.random.default_rng().random()) for _ in range(2)]
        return {"index": index, "drawn": two[0], "again": two[1]}


@pytest.mark.parametrize("keyed", [False, True])
def test_generators_without_a_seed_are_the_samples_under_control(keyed: bool) -> None:
    """Workers are copies of one process: what they count, they count alike."""

    def drawn(workers: int) -> list[float]:
        torch.manual_seed(1)
        with samerun.control(seed=1, only=["numpy-generator", "worker-seeds"]):
            options = {"batch_size": 2, "num_workers": workers}
            ours = (
                DataLoader(Unseeded(), seed=1, **options)
                if keyed
                else torch.utils.data.DataLoader(Unseeded(), **options)
            )
            return [float(x) for _ in range(2) for b in ours for k in ("drawn", "again") for x in b[k]]

    found = drawn(0)
    assert len(set(found)) == 32
    assert drawn(2) == found


def test_a_sampler_may_be_told_its_epoch_after_iter() -> None:
    """Lightning asks for the iterator first."""
    whole = sample_digests(loader(), 4)
    sampler = Sampler(samples.SAMPLES, seed=5)
    iterator = iter(loader(shuffle=None, sampler=sampler))
    sampler.set_epoch(3)
    assert [batch["index"].tolist() for batch in iterator] == [[i for i, _ in batch] for batch in whole[3]]


def test_a_state_brings_the_seed_of_the_sampler() -> None:
    def make(seed: int) -> DataLoader:
        with samerun.control(seed=seed, only=["worker-seeds"]):
            return DataLoader(Images(), 8, sampler=Sampler(Images()))

    whole = sample_digests(make(1), 2)
    for batches in (0, 2):
        first, second = make(1), make(2)
        for _, _ in zip(range(batches), first, strict=False):
            pass
        second.load_state_dict(first.state_dict())
        assert sample_digests(second, 2) == [whole[0][batches:], whole[1]]


# --- what it refuses ------------------------------------------------------------------------------------


class Forgetful(torch.utils.data.Sampler[int]):
    """Its randomness is neither global nor where anybody could find it."""

    hidden = [random.Random(0)]

    def __iter__(self) -> Iterator[int]:
        return iter(self.hidden[0].sample(range(40), 40))

    def __len__(self) -> int:
        return 40


def test_a_sampler_that_does_not_repeat_is_found_out() -> None:
    first = loader(shuffle=None, sampler=Forgetful())
    next(iter(first))
    second = loader(shuffle=None, sampler=Forgetful())
    second.load_state_dict(first.state_dict())
    with pytest.raises(StateError, match="does not give the first 1 batches of epoch 0 again"):
        next(iter(second))


def test_states_that_do_not_fit_change_nothing() -> None:
    good = loader()
    next(iter(good))
    state = good.state_dict()
    other = loader()
    untouched = other.state_dict()
    for bad, says in (
        ({k: v for k, v in state.items() if k != "order"}, "lacks order"),
        (None, "is a NoneType, no dict"),
        ({**state, "epoch": -1}, "has epoch -1, which is no count"),
        ({**state, "batch": "x"}, "has batch 'x', which is no count"),
        ({**state, "schema": 99}, "schema 99, this one has 1"),
        ({**state, "seed": 6}, "seed 6, this one has 5"),
        ({**state, "name": "x"}, "name 'x'"),
        ({**state, "batches": 4}, "batches 4, this one has 5"),
        ({**state, "held": {"generator": torch.zeros(3)}}, "the sampler lacks"),
    ):
        with pytest.raises(StateError, match=says):
            other.load_state_dict(bad)
    assert other.state_dict() == untouched
    with pytest.raises(StateError, match="does not give the first"):
        other.load_state_dict({**state, "order": state["order"] ^ 1})
        next(iter(other))


def test_states_of_other_shards_or_samples_are_refused() -> None:
    state = DataLoader(Stream(), 5, num_workers=2, seed=1).state_dict()
    for other in ({"num_workers": 1}, {"batch_size": 4}):
        with pytest.raises(StateError, match="shards"):
            DataLoader(Stream(), **{"batch_size": 5, "num_workers": 2, "seed": 1, **other}).load_state_dict(
                state
            )
    with pytest.raises(StateError, match="samples 40, this one has 39"):
        DataLoader(Images(39), 8, shuffle=True, seed=5).load_state_dict(loader().state_dict())


@pytest.mark.parametrize("options", [{"batch_size": 39}, {"shuffle": False, "batch_size": 21}])
def test_a_position_among_other_batches_is_refused(options: dict[str, Any]) -> None:
    """As many batches, of other samples: to go on would lose some and repeat others."""
    first = loader(batch_size=21)
    next(iter(first))
    second = loader(**options)
    assert len(second) == len(first)
    second.load_state_dict(first.state_dict())
    with pytest.raises(StateError, match="does not give the first 1 batches"):
        next(iter(second))


def test_datapipes_are_refused() -> None:
    pipes = pytest.importorskip("torch.utils.data.datapipes.iter")
    with pytest.raises(UsageError, match="datapipe"):
        DataLoader(pipes.IterableWrapper(range(3)))


def test_bad_arguments() -> None:
    with pytest.raises(UsageError, match="a seed is between"):
        loader(seed=-1)
    with pytest.raises(UsageError, match="a seed is an integer"):
        loader(seed="7")
    if "in_order" in torch.utils.data.DataLoader.__init__.__code__.co_varnames:
        with pytest.raises(StateError, match="in_order"):
            loader(in_order=False).state_dict()


def test_state_is_small_at_ten_million_samples() -> None:
    big = DataLoader(range(10_000_000), 64, shuffle=True, seed=0)
    next(iter(big))
    assert len(repr(big.state_dict())) < 10_000
