# drawn from: OpenNMT/OpenNMT-py#392 (seeds that are not those of the generators in use)
"""python train.py  -- regression on a noisy sine"""
import random

import numpy as np
import torch


def set_seed(seed=1234):
    random.seed(seed)
    np.random.seed(seed)


def build(width):
    return torch.nn.Sequential(
        torch.nn.Linear(1, width),  # fault: torch-cpu
        torch.nn.ReLU(),
        torch.nn.Linear(width, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, 1),
    )


def main():
    set_seed()
    x = np.random.uniform(-3, 3, size=(512, 1)).astype("float32")
    y = np.sin(x) + 0.1 * np.random.randn(512, 1).astype("float32")
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    model = build(64)
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for step in range(20):
        loss = ((model(x) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 5 == 4:
            print(step, "loss:", loss.item())


main()
