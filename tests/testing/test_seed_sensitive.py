"""assert_seed_sensitive passes what a seed decides, and names each thing that it does not.

Covers `find_generators.py`, `seed_checks.py` and `watch_loader.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from ranks.processes import run_ranks
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Subset

import samerun.data
from samerun.errors import UsageError
from samerun.testing import assert_seed_sensitive

COUNT = 16
DATA = torch.arange(COUNT * 2, dtype=torch.float32).reshape(COUNT, 2)


class Noisy(Dataset[torch.Tensor]):
    """Augments by a function of the index."""

    def __init__(self, noise: Callable[[int], float]) -> None:
        self.noise = noise

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> torch.Tensor:
        return DATA[index] + self.noise(index)


class Batched(Noisy):
    """Makes whole batches."""

    def __getitems__(self, indices: list[int]) -> list[torch.Tensor]:
        return [self[index] for index in indices]


def from_torch(index: int) -> float:
    return float(torch.rand(()))


def from_python(index: int) -> float:
    return random.random()


def from_numpy(index: int) -> float:
    return float(np.random.rand())


def flip(index: int) -> float:
    return float(random.random() < 0.5)


def nothing(index: int) -> float:
    return 0.0


def from_index(index: int) -> float:
    return random.Random(index).random()


def stock(dataset: Any, seed: int, **options: Any) -> DataLoader[Any]:
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(dataset, **{"batch_size": 4, "shuffle": True, "generator": generator, **options})


def ours(dataset: Any, seed: int, **options: Any) -> DataLoader[Any]:
    return samerun.data.DataLoader(dataset, **{"batch_size": 4, "shuffle": True, "seed": seed, **options})


def making(loader: Callable[[int], Any]) -> Callable[[int], tuple[nn.Module, Any]]:
    return lambda seed: (nn.Linear(2, 1), loader(seed))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("noise", [from_torch, from_python, from_numpy, flip])
@pytest.mark.parametrize("made", [stock, ours])
def test_a_training_that_its_seed_decides(made: Any, noise: Any, workers: int) -> None:
    assert_seed_sensitive(making(lambda seed: made(Noisy(noise), seed, num_workers=workers)))


@pytest.mark.parametrize("made", [stock, ours])
@pytest.mark.parametrize(
    "dataset",
    [Batched(from_torch), Subset(Noisy(from_torch), range(COUNT)), Subset(Batched(from_torch), range(COUNT))],
    ids=["batched", "subset", "subset-batched"],
)
def test_other_datasets(made: Any, dataset: Any) -> None:
    assert_seed_sensitive(making(lambda seed: made(dataset, seed)))
    assert_seed_sensitive(making(lambda seed: made(dataset, seed, persistent_workers=True, num_workers=2)))


@pytest.mark.parametrize("made", [stock, ours])
def test_without_batches(made: Any) -> None:
    assert_seed_sensitive(making(lambda seed: made(Noisy(from_torch), seed, batch_size=None)))


def test_a_hard_coded_initialisation() -> None:
    def make(seed: int) -> tuple[nn.Module, Any]:
        torch.manual_seed(42)
        model = nn.Linear(2, 1)
        torch.manual_seed(seed)
        return model, stock(Noisy(from_torch), seed)

    with pytest.raises(
        AssertionError, match="initialisation: seeds 0 and 1 give all 2 parameters alike"
    ) as caught:
        assert_seed_sensitive(make)
    assert "\n" not in str(caught.value)
    assert_seed_sensitive(make, parts=("order", "augmentation"))


class Parts(nn.Module):
    """One layer that the seed decides, one that a seed of its own does, and constants."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.identity = nn.Parameter(torch.eye(4))
        self.table = nn.Parameter(torch.arange(8.0), requires_grad=False)
        torch.manual_seed(0)
        self.second = nn.Linear(4, 1)


def test_one_layer_of_a_hard_coded_initialisation() -> None:
    parts = ("initialisation",)
    with pytest.raises(
        AssertionError, match=r"^initialisation: seeds 0 and 1 give second\.weight alike, and"
    ):
        assert_seed_sensitive(lambda seed: (Parts(seed), None), parts=parts)
    with pytest.raises(AssertionError, match=r"seeds 1 and 2 give second\.weight alike"):
        assert_seed_sensitive(lambda seed: (Parts(min(seed, 1) + seed), None), parts=parts, seeds=(1, 2))

    def without(seed: int) -> tuple[dict[str, Any], Any]:
        named = dict(Parts(seed).named_parameters())
        return {name: value for name, value in named.items() if not name.startswith("second")}, None

    assert_seed_sensitive(without, parts=parts)


def test_a_hard_coded_order() -> None:
    with pytest.raises(
        AssertionError, match=r"^order: seeds 0 and 1 give the order of the samples alike \(epoch 0\)$"
    ):
        assert_seed_sensitive(making(lambda seed: stock(Noisy(from_torch), 42)))


def test_no_order_at_all() -> None:
    make = making(lambda seed: ours(Noisy(from_torch), seed, shuffle=False))
    with pytest.raises(AssertionError, match=r"^order: epochs 0 and 1 .*, which is that of the dataset$"):
        assert_seed_sensitive(make)
    assert_seed_sensitive(make, parts=("initialisation", "augmentation"))


def test_the_same_order_every_epoch() -> None:
    def loader(seed: int) -> Any:
        order = torch.randperm(COUNT, generator=torch.Generator().manual_seed(seed)).tolist()
        return DataLoader(Noisy(from_torch), batch_size=4, sampler=order)

    with pytest.raises(
        AssertionError, match=r"^order: epochs 0 and 1 have the order of the samples alike \(seed 0\)$"
    ):
        assert_seed_sensitive(making(loader))


def test_seed_arithmetic() -> None:
    """torch's DistributedSampler shuffles by seed + epoch."""

    def loader(seed: int) -> Any:
        sampler = DistributedSampler(Noisy(from_torch), num_replicas=1, rank=0, seed=seed)
        return DataLoader(Noisy(from_torch), batch_size=4, sampler=sampler)

    with pytest.raises(
        AssertionError, match=r"^order: seed 0, epoch 1 and seed 1, epoch 0 have .* are added"
    ):
        assert_seed_sensitive(making(loader))
    assert_seed_sensitive(making(loader), seeds=(0, 5))


@pytest.mark.parametrize("noise", [nothing, from_index])
def test_no_augmentation(noise: Any) -> None:
    with pytest.raises(
        AssertionError, match=r"^augmentation: epochs 0 and 1 have all 16 samples alike \(seed 0\)$"
    ):
        assert_seed_sensitive(making(lambda seed: ours(Noisy(noise), seed)))


def seeded_worker(worker: int) -> None:
    """As MMEngine does: no epoch in it, so that every epoch augments alike."""
    torch.manual_seed(100 + worker)


def alike(worker: int) -> None:
    """Every worker draws the same, but other numbers each epoch."""
    torch.manual_seed(torch.utils.data.get_worker_info().seed - worker)  # type: ignore[union-attr]


def test_every_epoch_the_same_augmentation() -> None:
    make = making(lambda seed: stock(Noisy(from_torch), seed, num_workers=2, worker_init_fn=seeded_worker))
    with pytest.raises(AssertionError, match=r"^augmentation: .* epoch 0\) and .*seed 0, epoch 1\) draw the"):
        assert_seed_sensitive(make)


def test_every_worker_the_same_stream() -> None:
    make = making(lambda seed: stock(Noisy(from_torch), seed, num_workers=2, worker_init_fn=alike))
    match = r"^augmentation: sample \d+ in worker 0 .* and sample \d+ in worker 1 .* from torch-cpu$"
    with pytest.raises(AssertionError, match=match):
        assert_seed_sensitive(make)


class OwnGenerator(Noisy):
    """A generator of its own: a copy of it starts anew in every worker and epoch."""

    def __init__(self) -> None:
        super().__init__(lambda index: float(self.rng.random()))
        self.rng = np.random.default_rng(0)


def test_a_generator_that_the_dataset_holds() -> None:
    make = making(lambda seed: stock(OwnGenerator(), seed, num_workers=2))
    with pytest.raises(
        AssertionError, match=r"^augmentation: .* draw the same random numbers from dataset\.rng$"
    ):
        assert_seed_sensitive(make)


def mixed(samples: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack(samples) * torch.rand(())


def mixed_alike(samples: list[torch.Tensor]) -> torch.Tensor:
    torch.manual_seed(3)
    return torch.stack(samples) * torch.rand(())


def test_augmentation_in_collate_fn() -> None:
    assert_seed_sensitive(making(lambda seed: stock(Noisy(nothing), seed, collate_fn=mixed)))
    with pytest.raises(AssertionError, match=r"^augmentation: "):
        assert_seed_sensitive(making(lambda seed: stock(Noisy(nothing), seed, collate_fn=mixed_alike)))


def test_everything_wrong_is_said_at_once() -> None:
    def make(seed: int) -> tuple[nn.Module, Any]:
        torch.manual_seed(42)
        return nn.Linear(2, 1), ours(Noisy(nothing), 42)

    with pytest.raises(AssertionError) as caught:
        assert_seed_sensitive(make)
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "initialisation",
        "order",
        "augmentation",
    ]


@pytest.mark.slow
def test_two_ranks_with_one_stream(tmp_path: Any) -> None:
    script = """
    from torch.utils.data import DataLoader, DistributedSampler
    import samerun.data
    from samerun.testing import assert_seed_sensitive
    class Noisy(torch.utils.data.Dataset):
        def __len__(self): return 32
        def __getitem__(self, index): return index + torch.rand(())
    data = Noisy()
    class Hashed(torch.utils.data.Sampler):
        def __init__(self, seed): self.seed, self.epoch = seed, 0
        def set_epoch(self, epoch): self.epoch = epoch
        def __len__(self): return 16
        def __iter__(self):
            generator = torch.Generator().manual_seed(1000 * self.seed + 7 * self.epoch)
            return iter((torch.randperm(16, generator=generator) * 2 + rank).tolist())
    def stock(seed):  # seeded alike on both ranks, as scripts do
        torch.manual_seed(seed)
        return torch.nn.Linear(1, 1), DataLoader(data, batch_size=4, sampler=Hashed(seed))
    def ours(seed):
        torch.manual_seed(seed)
        loader = samerun.data.DataLoader(data, batch_size=4, sampler=Hashed(seed), seed=seed)
        return torch.nn.Linear(1, 1), loader
    def failed(make):
        try: assert_seed_sensitive(make)
        except AssertionError as e: return str(e)
    dist.init_process_group("gloo")
    say({"stock": failed(stock), "ours": failed(ours)})
    dist.barrier()
    dist.destroy_process_group()
    """
    for told in run_ranks(script, tmp_path):
        assert told["stock"].startswith("augmentation: sample ")
        assert "on rank 0 is drawn alike on rank 1: sample " in told["stock"]
        assert told["ours"] is None


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(COUNT))


@pytest.mark.parametrize(
    ("loader", "match"),
    [
        (lambda seed: [1, 2, 3], "only a torch DataLoader .* not a list"),
        (lambda seed: DataLoader(Stream()), "map-style dataset .* not a Stream"),
        (lambda seed: stock(Subset(Noisy(from_torch), range(7)), seed), "7 samples can have the same order"),
        (lambda seed: stock(Noisy(lambda index: object()), seed), "object"),
    ],
)
def test_what_cannot_be_told_is_not_a_pass(loader: Any, match: str) -> None:
    with pytest.raises((UsageError, TypeError), match=match):
        assert_seed_sensitive(making(loader))


def test_too_few_samples_in_common() -> None:
    def loader(seed: int) -> Any:
        sampler = torch.utils.data.RandomSampler(DATA, num_samples=8)
        return DataLoader(Noisy(from_torch), batch_size=4, sampler=sampler)

    with pytest.raises(UsageError, match="samples in common"):
        assert_seed_sensitive(making(loader))


def test_bad_arguments() -> None:
    make = making(lambda seed: stock(Noisy(from_torch), seed))
    with pytest.raises(UsageError, match="two different seeds"):
        assert_seed_sensitive(make, seeds=(1, 1))
    for parts in ((), "order", ("weights",)):
        with pytest.raises(UsageError, match="parts is a tuple"):
            assert_seed_sensitive(make, parts=parts)


def test_a_model_without_parameters_is_not_a_pass() -> None:
    with pytest.raises(UsageError, match="without parameters"):
        assert_seed_sensitive(lambda seed: (nn.ReLU(), None), parts=("initialisation",))


class OncePerEpoch(Noisy):
    """Draws for all samples together, when it is told the epoch."""

    def __init__(self, how: str, seed: int, told: int = 0) -> None:
        super().__init__(from_torch)
        self.how, self.seed, self.told = how, seed, told
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        generator = torch.Generator().manual_seed(self.seed * 1000 + epoch)
        self.noise_ = torch.rand((COUNT, 2), generator=generator)

    def __getitem__(self, index: int) -> torch.Tensor:
        own = self.noise_[0 if self.how in ("added", "multiplied") else index]
        data = DATA[index] + 1
        return data * own if "multiplied" in self.how else data + own


class Told(DataLoader[Any]):
    def set_epoch(self, epoch: int) -> None:
        self.dataset.set_epoch(epoch)  # type: ignore[attr-defined]


def once_per_epoch(how: str, seed: int, kind: Any = Told) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return kind(OncePerEpoch(how, seed), batch_size=4, shuffle=True, generator=generator)


@pytest.mark.parametrize(("how", "words"), [("added", "added to"), ("multiplied", "multiplied with")])
def test_noise_drawn_once_for_an_epoch(how: str, words: str) -> None:
    with pytest.raises(AssertionError, match=f"the same is {words} all 16 samples"):
        assert_seed_sensitive(making(lambda seed: once_per_epoch(how, seed)))


@pytest.mark.parametrize("kind", [Told, DataLoader])  # torch's own has no set_epoch, the dataset has
@pytest.mark.parametrize("how", ["added each", "multiplied each"])
def test_a_table_of_noise_for_each_sample_is_none(how: str, kind: Any) -> None:
    assert_seed_sensitive(making(lambda seed: once_per_epoch(how, seed, kind)))


def test_small_noise_on_large_numbers_is_none() -> None:
    assert_seed_sensitive(making(lambda seed: stock(Noisy(lambda index: 1e4 + from_torch(index) / 20), seed)))
