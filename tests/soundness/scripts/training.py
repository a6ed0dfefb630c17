"""What the planted scripts share: a small network, trained for a few steps."""

import torch
from torch import nn


def make_net():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def make_data(rows=32):
    """Inputs (rows, 8) and targets (rows, 1), the same each time."""
    x = torch.linspace(-1, 1, rows * 8).reshape(rows, 8)
    return x, (x.sum(1, keepdim=True) > 0).float()


def train(net, x, y, lr=0.1, steps=4):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.8f}")
