# drawn from: the class "mixup": lambda comes from np.random (as in the paper's code), only torch is seeded
"""Mixup on two moons, trainer style."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Config:
    seed: int = 0
    lr: float = 0.05
    steps: int = 30
    batch: int = 64
    alpha: float = 0.4


def moons(n, generator):
    t = torch.rand(n, generator=generator) * torch.pi
    y = (torch.arange(n) % 2).float()
    x = torch.stack([torch.cos(t) + y, torch.sin(t) * (1 - 2 * y) + 0.5 * y], dim=1)
    return x + 0.1 * torch.randn(n, 2, generator=generator), y


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 1))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=0.9)
        self.x, self.y = moons(2048, torch.Generator().manual_seed(1))

    def mixup(self, x, y):
        lam = float(np.random.beta(self.cfg.alpha, self.cfg.alpha))  # fault: numpy-global
        perm = torch.randperm(len(x))
        return lam * x + (1 - lam) * x[perm], lam * y + (1 - lam) * y[perm]

    def step(self, i):
        rows = torch.arange(i * self.cfg.batch, (i + 1) * self.cfg.batch) % len(self.x)
        x, y = self.mixup(self.x[rows], self.y[rows])
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(x).squeeze(1), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self):
        for i in range(self.cfg.steps):
            loss = self.step(i)
            if i % 5 == 0:
                print(f"[{i:3d}] loss={loss:.5f}")


if __name__ == "__main__":
    Trainer(Config()).fit()
