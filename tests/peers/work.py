"""The work that a peer and samerun both do: a dataset with augmentations, and a model with dropout."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset

SAMPLES = 12
BATCH = 2


class Augmented(Dataset[torch.Tensor]):
    """12 samples. Each is (4,) float64: its index, and one draw each of python, numpy and torch."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([float(index), *next_draws()], dtype=torch.float64)


class Net(nn.Module):
    """Batches of (n, 4) float64 samples to a loss; the dropout draws from torch's global generator."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.layers(batch[:, 1:].float()).pow(2).mean()  # type: ignore[no-any-return]


def seed(value: int) -> None:
    """What every script does at its top."""
    random.seed(value)
    np.random.seed(value)
    torch.manual_seed(value)


def order(batches: Iterable[torch.Tensor]) -> list[int]:
    """The indices of the samples, in the order of the batches."""
    return [int(index) for batch in batches for index in batch[:, 0]]


def draws(batches: Sequence[torch.Tensor]) -> list[bytes]:
    """The bits of each sample's three draws, in the order of the batches."""
    return [sample.numpy().tobytes() for batch in batches for sample in batch[:, 1:]]


def by_sample(batches: Iterable[torch.Tensor]) -> dict[int, bytes]:
    """The bits of each sample's three draws, by its index."""
    return {int(sample[0]): sample[1:].numpy().tobytes() for batch in batches for sample in batch}


def next_draws() -> tuple[float, float, float]:
    """What python, numpy and torch draw next in this process."""
    return random.random(), float(np.random.rand()), torch.rand((), dtype=torch.float64).item()


def bits(tensors: Iterable[torch.Tensor]) -> list[bytes]:
    """The bytes of each tensor, so that -0.0 is not 0.0 and a NaN equals itself."""
    return [tensor.detach().numpy().tobytes() for tensor in tensors]
