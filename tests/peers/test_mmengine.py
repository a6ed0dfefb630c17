"""MMEngine: augmentations from one epoch to the next, and from one number of workers to another."""

from __future__ import annotations

import torch

from samerun.data import DataLoader

from .faults import fault
from .work import BATCH, Augmented, bits, draws, order, seed


def epochs(*, workers: int, count: int = 2) -> list[list[torch.Tensor]]:
    """The batches of each epoch of the loader that MMEngine's Runner builds, with its defaults."""
    from mmengine.runner import Runner

    seed(0)
    configuration = {
        "dataset": Augmented(),
        "sampler": {"type": "DefaultSampler", "shuffle": True},
        "batch_size": BATCH,
        "num_workers": workers,
        "collate_fn": {"type": "default_collate"},
    }
    loader = Runner.build_dataloader(configuration, seed=0)
    found = []
    for epoch in range(count):
        loader.sampler.set_epoch(epoch)
        found.append(list(loader))
    return found


@fault(
    "mmengine",
    "the worker seed has no epoch: every epoch draws the same augmentations",
    samerun="each epoch draws its own",
)
class TestTheAugmentationsOfTwoEpochs:
    def test_peer(self, peer: str) -> None:
        first, second = epochs(workers=2)
        assert order(first) != order(second)
        assert draws(first) == draws(second)

    def test_samerun(self) -> None:
        loader = DataLoader(Augmented(), batch_size=BATCH, shuffle=True, num_workers=2, seed=0)
        first, second = list(loader), list(loader)
        assert order(first) != order(second)
        assert set(draws(first)).isdisjoint(draws(second))


@fault(
    "mmengine",
    "the augmentations of a sample depend on num_workers",
    samerun="the same bits with 0, 1 and 2 workers",
)
class TestTheNumberOfWorkers:
    def test_peer(self, peer: str) -> None:
        (one,), (two,) = epochs(workers=1, count=1), epochs(workers=2, count=1)
        assert order(one) == order(two)
        assert draws(one) != draws(two)

    def test_samerun(self) -> None:
        none, one, two = (
            bits(DataLoader(Augmented(), batch_size=BATCH, shuffle=True, num_workers=workers, seed=0))
            for workers in (0, 1, 2)
        )
        assert none == one == two
