# drawn from: cost-aware hyperparameter search (FLAML's cost-frugal search, multi-fidelity by seconds): progress for each second spent
import dataclasses
import itertools
import time
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    hidden: int
    lr: float
    depth: int = 2


@dataclass
class Trial:
    config: Config
    model: nn.Module = None
    optimizer: torch.optim.Optimizer = None
    losses: list = field(default_factory=list)
    spent: float = 0.0

    def score(self):
        """how much better it became, for each second"""
        return (self.losses[0] - self.losses[-1]) / self.spent


def build(config):
    torch.manual_seed(config.hidden)
    layers, width = [], 8
    for _ in range(config.depth):
        layers += [nn.Linear(width, config.hidden), nn.SiLU()]
        width = config.hidden
    return nn.Sequential(*layers, nn.Linear(width, 1))


def advance(trial, x, y, steps):
    start = time.process_time()  # fault: clock
    for _ in range(steps):
        loss = F.smooth_l1_loss(trial.model(x).squeeze(-1), y)
        trial.optimizer.zero_grad()
        loss.backward()
        trial.optimizer.step()
        trial.losses.append(loss.item())
    trial.spent += time.process_time() - start  # fault: clock


def search(x, y, space, rungs=3, steps=6):
    trials = [Trial(c) for c in space]
    for t in trials:
        t.model = build(t.config)
        t.optimizer = torch.optim.AdamW(t.model.parameters(), lr=t.config.lr)
    for rung in range(rungs):
        for t in trials:
            advance(t, x, y, steps * 2 ** rung)
        trials.sort(key=Trial.score, reverse=True)  # fault: clock
        print(f"rung {rung}: loss of the best {trials[0].losses[-1]:.5f}, {len(trials)} trials")
        trials = trials[:max(1, len(trials) // 2)]
    return trials[0]


def main():
    g = torch.Generator().manual_seed(12)
    x = torch.randn(128, 8, generator=g)
    y = (x[:, 0] * x[:, 1]).tanh() + x[:, 2].sin()
    space = [Config(h, lr) for h, lr in itertools.product((20, 21, 22, 23, 24), (3e-3, 3.1e-3))]
    best = search(x, y, space)
    print("chosen:", dataclasses.asdict(best.config))
    advance(best, x, y, 20)
    print(f"final loss {best.losses[-1]:.5f}")


if __name__ == "__main__":
    main()
