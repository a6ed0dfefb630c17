"""torchdata: the augmentations of a StatefulDataLoader after a resume in the middle of an epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .faults import fault
from .training import Training, resumed
from .work import BATCH, Augmented, bits, draws, order, seed

STOP = 2  # batches before the state is taken, of 6 in the epoch


def fresh() -> Any:
    """A script's start."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    seed(0)
    return StatefulDataLoader(Augmented(), batch_size=BATCH, shuffle=True, num_workers=2)


@fault(
    "torchdata",
    "StatefulDataLoader does not restore the augmentations of its workers",
    samerun="the rest of the epoch has the same bits",
)
class TestTheAugmentationsOfTheRestOfAnEpoch:
    def test_peer(self, peer: str) -> None:
        whole: list[torch.Tensor] = list(fresh())
        assert bits(list(fresh())) == bits(whole)
        stopped = fresh()
        batches = iter(stopped)
        for _ in range(STOP):
            next(batches)
        state, generator = stopped.state_dict(), torch.get_rng_state()
        resumed = fresh()
        resumed.load_state_dict(state)
        torch.set_rng_state(generator)
        rest = list(resumed)
        assert order(rest) == order(whole[STOP:])
        assert draws(rest[:1]) != draws(whole[STOP : STOP + 1])

    def test_samerun(self, tmp_path: Path) -> None:
        whole = Training(workers=2)
        batches = whole.train()
        training = resumed(tmp_path / "state.pt", steps=STOP, workers=2)
        assert bits(training.train()) == bits(batches[STOP:])
        assert bits(training.model.parameters()) == bits(whole.model.parameters())
