"""A small training that draws from every generator, with all that a checkpoint must hold."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch import nn

from samerun.digest import digest_value


class Training:
    """AdamW, a scheduler, a scaler and an EMA; each step draws from seven generators."""

    def __init__(self, seed: int = 0) -> None:
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, 0.1, total_steps=50)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        self.ema = torch.optim.swa_utils.AveragedModel(self.model, use_buffers=True)
        self.generator = torch.Generator().manual_seed(seed)
        self.python = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.legacy = np.random.RandomState(seed)

    @property
    def objects(self) -> dict[str, Any]:
        return dict(vars(self))

    def step(self) -> float:
        drawn = random.random() + np.random.rand() + float(torch.rand(1, generator=self.generator))
        drawn += self.python.random() + self.numpy.random() + self.legacy.standard_normal()
        loss = self.model(torch.randn(8, 4) + drawn).square().mean()
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.ema.update_parameters(self.model)
        return loss.item()

    def steps(self, count: int) -> list[float]:
        return [self.step() for _ in range(count)]

    def digest(self) -> bytes:
        """Of every weight, moment and count."""
        named = ("model", "optimizer", "scheduler", "scaler", "ema")
        return digest_value([getattr(self, name).state_dict() for name in named])
