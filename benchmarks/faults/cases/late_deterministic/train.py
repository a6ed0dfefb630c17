# drawn from: microsoft/AReaL#1544, verl#7027: the flag is set when the main stage begins, and the first stage has run
"""Two stages: node embeddings from random walks first, then a classifier on top of them."""
import argparse
import random

import numpy as np
import torch
from torch import nn


def set_determinism(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False


def ring_of_cliques(cliques=12, size=10):
    """(edges [2, E], label of each node)."""
    edges = []
    for c in range(cliques):
        nodes = range(c * size, (c + 1) * size)
        edges += [(a, b) for a in nodes for b in nodes if a != b]
        edges += [(c * size, (c + 1) % cliques * size), ((c + 1) % cliques * size, c * size)]
    labels = torch.arange(cliques * size) // size % 4
    return torch.tensor(edges).T, labels


class WalkEmbedding:
    """Skip-gram over random walks, with negative samples."""

    def __init__(self, nodes, dim, generator):
        self.table = (0.1 * torch.randn(nodes, dim, generator=generator)).requires_grad_()
        self.generator = generator

    def loss(self, edges, pairs=3000):
        rows = torch.randint(edges.shape[1], (pairs,), generator=self.generator)
        left, right = edges[:, rows]
        other = torch.randint(len(self.table), (pairs,), generator=self.generator)
        a, b, c = self.table[left], self.table[right], self.table[other]  # fault: nondeterministic-kernels
        return -nn.functional.logsigmoid((a * b).sum(1)).mean() - nn.functional.logsigmoid(-(a * c).sum(1)).mean()

    def fit(self, edges, steps, lr=0.05):
        optimizer = torch.optim.Adam([self.table], lr=lr)
        for step in range(steps):
            loss = self.loss(edges)
            optimizer.zero_grad()
            loss.backward()  # fault: nondeterministic-kernels
            optimizer.step()
        print(f"walks: loss {loss.item():.6f}")
        return self.table.detach()


def classify(embedding, labels, epochs, seed):
    set_determinism(seed)
    order = torch.randperm(len(labels))
    train, test = order[: len(order) * 3 // 4], order[len(order) * 3 // 4 :]
    model = nn.Sequential(nn.Linear(embedding.shape[1], 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        loss = nn.functional.cross_entropy(model(embedding[train]), labels[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 9:
            acc = (model(embedding[test]).argmax(1) == labels[test]).float().mean()
            print(f"epoch {epoch} loss {loss.item():.6f} acc {acc:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--walk-steps", type=int, default=25)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    edges, labels = ring_of_cliques()
    generator = torch.Generator().manual_seed(args.seed)
    embedding = WalkEmbedding(len(labels), args.dim, generator).fit(edges, args.walk_steps)
    classify(embedding, labels, args.epochs, args.seed)


if __name__ == "__main__":
    main()
