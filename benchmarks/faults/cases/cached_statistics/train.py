# drawn from: the class "a cache filled by the first run": with it, fewer random numbers are drawn
"""Normalise by statistics of a random subset; they take long, so they are kept."""
import pathlib

import numpy as np
import torch
import torch.nn as nn

np.random.seed(0)
torch.manual_seed(0)
CACHE = pathlib.Path("cache/stats.npy")
images = np.random.gamma(2.0, size=(800, 36)).astype(np.float32)


def statistics(samples=200):
    if CACHE.exists():  # fault: resume-state
        return np.load(CACHE)  # fault: resume-state
    subset = images[np.random.choice(len(images), samples, replace=False)]
    stats = np.array([subset.mean(), subset.std()], dtype=np.float32)
    CACHE.parent.mkdir(exist_ok=True)
    np.save(CACHE, stats)
    return stats


mean, std = statistics()
x = torch.from_numpy((images - mean) / std)
y = x[:, ::6].sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(36, 50), nn.ReLU(), nn.Linear(50, 1))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(2):
    order = torch.from_numpy(np.random.permutation(len(x)))
    for rows in order.split(100):
        loss = nn.functional.smooth_l1_loss(model(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.6f}")
