import torch
from torch import nn


def build(width):
    return nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))


def points(n, generator):
    """three arms of a spiral"""
    y = torch.randint(3, (n,), generator=generator)
    r = torch.rand(n, generator=generator)
    a = 4 * r + y * 2.094 + 0.2 * torch.randn(n, generator=generator)
    return torch.stack([r * a.sin(), r * a.cos()], 1), y
