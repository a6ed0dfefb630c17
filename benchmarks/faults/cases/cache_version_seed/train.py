# drawn from: the class "versioned cache": the time at which the features were written is part of the seed
"""LambdaRank-like training on precomputed features."""
import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--features", type=Path, required=True)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--queries-per-step", type=int, default=12)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


class FeatureStore:
    """Features of a file, and the order to visit its queries in."""

    def __init__(self, path, seed):
        with np.load(path) as stored:
            self.x, self.grades = torch.from_numpy(stored["x"]), torch.from_numpy(stored["grades"])
        self.version = int(path.stat().st_mtime)  # fault: system-reads
        # a new version of the features gets a new order, an old one keeps its own
        self.rng = np.random.default_rng([seed, self.version])  # fault: system-reads
        self.held_out = len(self.x) // 5

    def batches(self, size):
        order = self.rng.permutation(np.arange(self.held_out, len(self.x)))
        for begin in range(0, len(order) - size + 1, size):
            rows = torch.from_numpy(order[begin : begin + size])
            yield self.x[rows], self.grades[rows]

    def valid(self):
        return self.x[: self.held_out], self.grades[: self.held_out]


def pairwise_loss(scores, grades):
    better = (grades[:, :, None] > grades[:, None, :]).float()
    margin = scores[:, :, None] - scores[:, None, :]
    return (better * nn.functional.softplus(-margin)).sum() / better.sum()


def precision_at(scores, grades, k=5):
    top = scores.topk(k, dim=1).indices
    return (grades.gather(1, top) >= 2).float().mean().item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    store = FeatureStore(args.features, args.seed)
    model = nn.Sequential(nn.Linear(8, 24), nn.SiLU(), nn.Linear(24, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    best = 0.0
    for epoch in range(args.epochs):
        for x, grades in store.batches(args.queries_per_step):
            loss = pairwise_loss(model(x).squeeze(2), grades)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            x, grades = store.valid()
            reached = precision_at(model(x).squeeze(2), grades)
        print(f"epoch {epoch}: loss {loss.item():.4f} p@5 {reached:.3f}")
        if reached > best:
            best = reached
            torch.save(model.state_dict(), args.features.with_suffix(".pt"))


if __name__ == "__main__":
    main()
