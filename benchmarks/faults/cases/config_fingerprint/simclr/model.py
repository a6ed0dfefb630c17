import torch
from torch import nn
from torch.nn import functional as F


class Encoder(nn.Module):
    def __init__(self, inputs, cfg):
        super().__init__()
        self.act = cfg.activation
        self.one = nn.Linear(inputs, cfg.dim)
        self.two = nn.Linear(cfg.dim, cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.projection)

    def forward(self, x):
        h = self.act(self.two(self.act(self.one(x))))
        return F.normalize(self.head(h), dim=1)


def nt_xent(a, b, t):
    z = torch.cat([a, b])
    sim = z @ z.T / t
    sim.fill_diagonal_(-1e4)
    n = len(a)
    target = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, target)
