"""The work, as a script writes it with samerun."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import torch

from samerun import state
from samerun.data import DataLoader

from .work import BATCH, Augmented, Net, seed


class Training:
    """A script's start: seeded, with everything that a resume needs in `objects`."""

    def __init__(self, *, workers: int = 0) -> None:
        seed(0)
        self.model = Net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loader = DataLoader(Augmented(), batch_size=BATCH, shuffle=True, num_workers=workers, seed=0)
        self.objects = {"model": self.model, "optimizer": self.optimizer, "loader": self.loader}
        self.noise: list[torch.Tensor] = []  # what the main process drew, step by step

    def train(self, steps: int | None = None) -> list[torch.Tensor]:
        """Begin an epoch, or go on with one that was loaded; the batches of it, or of its first steps."""
        batches = []
        for batch in islice(self.loader, steps):
            batches.append(batch.clone())
            self.noise.append(torch.rand(3))
            self.optimizer.zero_grad()
            self.model(batch).backward()
            self.optimizer.step()
        return batches


def resumed(file: Path, *, steps: int | None = None, workers: int = 0) -> Training:
    """A training that was stopped after some steps of its first epoch, None for all, and resumed."""
    stopped = Training(workers=workers)
    stopped.train(steps)
    state.save(file, **stopped.objects)
    training = Training(workers=workers)
    state.load(file, **training.objects)
    return training
