"""A small transformer whose blocks are recomputed in the backward pass."""

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class DropPath(nn.Module):
    """Leaves out the branch for some samples, as in timm."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        keep = np.random.random_sample(x.shape[0]) >= self.rate  # fault: numpy-global
        mask = torch.from_numpy(keep.astype(np.float32)).to(x)
        return x * mask.view(-1, *[1] * (x.ndim - 1)) / (1 - self.rate)


class Block(nn.Module):
    def __init__(self, dim, heads, rate):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.path = DropPath(rate)

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.path(self.attention(h, h, h, need_weights=False)[0])
        return x + self.path(self.mlp(self.norm2(x)))


class Encoder(nn.Module):
    def __init__(self, features=8, length=8, dim=32, depth=3, heads=4, classes=10, rate=0.2, recompute=True):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.position = nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.ModuleList(Block(dim, heads, rate * i / max(1, depth - 1)) for i in range(depth))
        self.head = nn.Linear(dim, classes)
        self.recompute = recompute

    def forward(self, x):
        x = self.embed(x) + self.position
        for block in self.blocks:
            if self.recompute and self.training:
                x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
            else:
                x = block(x)
        return self.head(x.mean(1))
