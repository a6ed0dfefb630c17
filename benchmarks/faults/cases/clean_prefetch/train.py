# drawn from: rl-institut/simbev#23 done right: one producer, with a generator of its own
import queue
import threading
from contextlib import closing

import numpy as np
import torch
from torch import nn


class Prefetcher:
    """Prepares batches in the background."""

    def __init__(self, batches, depth=3):
        self.queue = queue.Queue(depth)
        self.thread = threading.Thread(target=self.fill, args=(batches,), daemon=True)
        self.thread.start()

    def fill(self, batches):
        for batch in batches:
            self.queue.put(batch)
        self.queue.put(None)

    def __iter__(self):
        while (batch := self.queue.get()) is not None:
            yield batch

    def close(self):
        self.thread.join()


def batches(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = rng.normal(size=(40, 5)).astype(np.float32)
        yield torch.from_numpy(x), torch.from_numpy(np.sort(x, axis=1))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 5))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
with closing(Prefetcher(batches(20, seed=1))) as loader:
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.l1_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{step} loss {loss.item():.6f}")
