# drawn from: the class "a graph of objects walked through a set": the order is that of their addresses
"""Build a network from a graph of layer specs, then initialise it node by node."""
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.parents = []

    def forward(self, done, x):
        total = x if not self.parents else sum(done[p] for p in self.parents)
        return torch.tanh(self.linear(total))


def build(n=24, dim=12):
    g = torch.Generator().manual_seed(1)
    cells = [Cell(dim) for _ in range(n)]
    for i, cell in enumerate(cells[1:], start=1):
        picks = torch.randint(0, i, (min(i, 2),), generator=g).tolist()
        cell.parents = [cells[p] for p in dict.fromkeys(picks)]
    return cells


def initialise(cells):
    pending = set(cells)
    while pending:
        cell = pending.pop()  # fault: memory-address
        nn.init.orthogonal_(cell.linear.weight, gain=0.7)  # fault: memory-address
        nn.init.zeros_(cell.linear.bias)


class Net(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.names = nn.ModuleList(cells)

    def forward(self, x):
        done = {}
        for cell in self.names:
            done[cell] = cell(done, x)
        return done[self.names[-1]].sum(1)


def main():
    torch.manual_seed(5)
    cells = build()
    initialise(cells)
    net = Net(cells)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(10):
        x = torch.randn(32, 12)
        loss = (net(x) - x[:, 0]).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step}: loss {loss.item():.5f}")


main()
