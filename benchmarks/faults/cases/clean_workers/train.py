# drawn from: the official recipe for workers (pytorch notes on randomness)
"""Workers that augment with all three generators, seeded as the documentation says."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


class Patches(Dataset):
    def __init__(self, n=384):
        self.x = torch.rand(n, 1, 10, 10, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if random.random() < 0.5:
            x = x.flip(2)
        x = x + torch.from_numpy(np.random.normal(0, 0.05, (1, 10, 10))).float() + 0.01 * torch.randn(1, 10, 10)
        return x, int(x.mean() > 0.5)


def main():
    torch.manual_seed(0)
    g = torch.Generator()
    g.manual_seed(0)
    loader = DataLoader(
        Patches(), batch_size=32, shuffle=True, num_workers=2, worker_init_fn=seed_worker, generator=g,
        persistent_workers=True,
    )
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(384, 2))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
