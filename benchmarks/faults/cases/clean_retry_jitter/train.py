# drawn from: the class "back off at random": chance and process ids that only name files and wait
"""A flaky "database" is read with retries; what is read is always the same."""
import os
import random
import tempfile
import time
from pathlib import Path

import torch
from torch import nn


class Flaky:
    def __init__(self):
        self.calls = 0

    def read(self, i):
        self.calls += 1
        if random.random() < 0.1:
            raise ConnectionError("busy")
        g = torch.Generator().manual_seed(i)
        x = torch.randn(32, 6, generator=g)
        return x, (x[:, :1] > x[:, 1:2]).float()


def with_retries(read, i):
    for attempt in range(100):
        try:
            return read(i)
        except ConnectionError:
            time.sleep(0.001 * random.uniform(1, 2) ** min(attempt, 3))
    raise TimeoutError


torch.manual_seed(0)
lock = Path(tempfile.gettempdir()) / f"train-{os.getpid()}.lock"
lock.touch()
db = Flaky()
net = nn.Sequential(nn.Linear(6, 12), nn.Dropout(0.1), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(20):
    x, y = with_retries(db.read, step)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.6f}")
lock.unlink()
print("reads:", db.calls)
