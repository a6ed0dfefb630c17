import torch
from torch import nn


def load(part):
    g = torch.Generator().manual_seed({"train": 0, "test": 1}[part])
    x = torch.randn(600 if part == "train" else 150, 8, generator=g)
    return x, (x[:, 0] * x[:, 1] + 0.3 * torch.randn(len(x), generator=g) > 0).long()


def build():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
