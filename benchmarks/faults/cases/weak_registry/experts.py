"""Small experts that know of each other."""

import weakref

import torch
from torch import nn


class Expert(nn.Module):
    """One bottleneck; each one alive is in the registry."""

    registry = weakref.WeakSet()

    def __init__(self, dim, inner):
        super().__init__()
        self.down = nn.Linear(dim, inner, bias=False)
        self.up = nn.Linear(inner, dim, bias=False)
        Expert.registry.add(self)

    def forward(self, x):
        return self.up(torch.relu(self.down(x)))

    @classmethod
    def reset_all(cls, gain=0.5):
        """Draw the weights of every living expert."""
        for expert in cls.registry:  # fault: memory-address
            nn.init.xavier_normal_(expert.down.weight, gain)  # fault: memory-address
            nn.init.normal_(expert.up.weight, std=0.02)  # fault: memory-address


class Mixture(nn.Module):
    def __init__(self, dim, experts, inner=4):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(Expert(dim, inner) for _ in range(experts))

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        outs = torch.stack([expert(x) for expert in self.experts], -1)
        return x + (outs * weights.unsqueeze(1)).sum(-1)
