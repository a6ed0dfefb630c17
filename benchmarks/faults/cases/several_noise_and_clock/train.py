# drawn from: isl-org/Open3D-ML#395 (default_rng() made here and there) with a schedule in seconds besides
"""Denoising autoencoder; corruption from numpy, learning rate from a timer."""
import time

import numpy as np
import torch
from torch import nn


class Corruptor:
    def __init__(self, level):
        self.level = level
        self.rng = np.random.default_rng()  # fault: numpy-generator

    def __call__(self, x):
        noise = self.rng.normal(0, self.level, size=x.shape)  # fault: numpy-generator
        return x + torch.from_numpy(noise).float()


class Timer:
    def __init__(self):
        self.start = time.perf_counter()

    def passed(self):
        return time.perf_counter() - self.start  # fault: clock


def adjust(optimizer, timer):
    for group in optimizer.param_groups:
        group["lr"] = 1e-2 / (1 + timer.passed())  # fault: clock


torch.manual_seed(0)
x = torch.sin(torch.linspace(0, 20, 4000)).view(100, 40)
net = nn.Sequential(nn.Linear(40, 10), nn.ReLU(), nn.Linear(10, 40))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
corrupt, timer = Corruptor(0.1), Timer()
for step in range(20):
    loss = (net(corrupt(x)) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    if step >= 8:
        adjust(optimizer, timer)
    optimizer.step()
    if step % 4 == 3:
        print(f"{step + 1:3d} loss={loss.item():.6f}")
