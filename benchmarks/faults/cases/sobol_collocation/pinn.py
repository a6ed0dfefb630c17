# drawn from: scipy.stats.qmc engines scramble by default, from a generator that no one has seeded
"""u'' = -pi^2 sin(pi x) on the unit square's diagonal waves: a physics-informed network."""
import math

import numpy as np
import torch
from scipy.stats import qmc
from torch import nn


class Domain:
    def __init__(self, dim=2):
        self.engine = qmc.Sobol(d=dim)  # fault: numpy-generator

    def interior(self, power):
        points = self.engine.random(2 ** power)
        return torch.tensor(points, dtype=torch.float32, requires_grad=True)

    @staticmethod
    def border(n):
        t = torch.linspace(0, 1, n)[:, None]
        o = torch.zeros_like(t)
        return torch.cat([torch.cat(pair, 1) for pair in ((t, o), (t, o + 1), (o, t), (o + 1, t))])


def laplacian(u, x):
    g = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    return sum(torch.autograd.grad(g[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(x.shape[1]))


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
    domain = Domain()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    edge = domain.border(16)
    for it in range(30):
        x = domain.interior(6)
        u = net(x)[:, 0]
        source = -2 * math.pi ** 2 * torch.sin(math.pi * x[:, 0]) * torch.sin(math.pi * x[:, 1])
        loss = (laplacian(u, x) - source).square().mean() / 100 + net(edge).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 5 == 4:
            print(f"iter {it + 1:3d}  loss {loss.item():.6e}")


if __name__ == "__main__":
    main()
