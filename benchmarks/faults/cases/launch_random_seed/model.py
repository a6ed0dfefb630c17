import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, drop):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mix = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(drop), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.mix(self.norm(x))


class TabularNet(nn.Module):
    def __init__(self, columns, dim=24, depth=2, drop=0.1):
        super().__init__()
        self.stem = nn.Linear(columns, dim)
        self.blocks = nn.Sequential(*[Block(dim, drop) for _ in range(depth)])
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        return self.head(torch.relu(self.blocks(self.stem(x)))).squeeze(1)
