# drawn from: rl-institut/simbev#23, uber/petastorm#796: a reader pool without an order
"""Regression on shards that several reader threads decompress in the background."""
import random
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from reader import PrefetchReader, write_shards


@dataclass
class Config:
    shards: int = 18
    rows: int = 400
    width: int = 24
    batch_size: int = 100
    readers: int = 3
    lr: float = 2e-3
    seed: int = 7


class Net(nn.Module):
    def __init__(self, width, hidden=96):
        super().__init__()
        self.inp = nn.Linear(width, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = F.gelu(self.norm(self.inp(x)))
        return self.out(h + F.gelu(self.mid(h))).squeeze(-1)


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def main(cfg=Config()):
    seed_everything(cfg.seed)
    store = write_shards(cfg.shards, cfg.rows, cfg.width)
    model = Net(cfg.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, 1.0, total_iters=10)
    running = None
    for step, (x, y) in enumerate(PrefetchReader(store, cfg.batch_size, cfg.readers)):
        loss = F.huber_loss(model(torch.from_numpy(x)), torch.from_numpy(y))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
        if step % 10 == 0:
            print(f"step {step:3d} loss {running:.5f}")
    print("final loss", round(running, 6))


if __name__ == "__main__":
    main()
