"""A graph network that gathers neighbours by `x[index]`. Seeded, and still not repeatable at two threads.

The backward of `x[index]` adds into shared rows from several threads, in whatever order they arrive.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


class GraphLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.own, self.neighbour = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x, source, target):
        messages = self.neighbour(x)[source]
        gathered = torch.zeros_like(x).index_add(0, target, messages)
        degree = torch.bincount(target, minlength=len(x)).clamp(min=1)
        return F.relu(self.own(x) + gathered / degree[:, None])


class GraphNet(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.layers = nn.ModuleList(GraphLayer(width) for _ in range(2))
        self.head = nn.Linear(width, classes)

    def forward(self, x, source, target):
        for layer in self.layers:
            x = layer(x, source, target)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", help="where to save the trained weights")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    nodes, edges, width = 300, 6000, 64
    x = torch.randn(nodes, width)
    source, target = torch.randint(nodes, (edges,)), torch.randint(nodes, (edges,))
    labels = x[:, :4].argmax(1)
    model = GraphNet(width, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(arguments.steps):
        loss = F.cross_entropy(model(x, source, target), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1}: loss {loss.item():.9f}")
    if arguments.save:
        torch.save(model.state_dict(), arguments.save)


if __name__ == "__main__":
    main()
