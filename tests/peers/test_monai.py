"""MONAI: what making a DataLoader does to the caller's generator."""

from __future__ import annotations

import torch

from samerun.data import DataLoader

from .faults import fault
from .work import BATCH, SAMPLES, Augmented, bits, next_draws, seed


@fault(
    "monai",
    "DataLoader(num_workers=0) rewinds torch's generator to its seed: numbers are drawn twice",
    samerun="the caller's generators are left as they were, by making the loader and by an epoch of it",
)
class TestTheGeneratorOfTheCaller:
    def test_peer(self, peer: str) -> None:
        from monai.data import DataLoader as Monai

        seed(0)
        before = torch.rand(3)
        Monai(Augmented(), batch_size=BATCH, num_workers=0)
        assert bits([torch.rand(3)]) == bits([before])

    def test_samerun(self) -> None:
        seed(0)
        unbroken = [next_draws() for _ in range(3)]
        seed(0)
        assert next_draws() == unbroken[0]
        loader = DataLoader(Augmented(), batch_size=BATCH, shuffle=True, num_workers=0)
        assert next_draws() == unbroken[1]
        assert len(list(loader)) == SAMPLES // BATCH
        assert next_draws() == unbroken[2]
