# drawn from: the class "empty where zeros was meant": state of a hand-written optimizer (cf. pytorch#13663)
"""Tabular regression with entity embeddings."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from lion import Lion


class Tabular(nn.Module):
    def __init__(self, sizes, numeric, hidden):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, 4) for size in sizes)
        self.norm = nn.BatchNorm1d(numeric)
        self.body = nn.Sequential(
            nn.Linear(4 * len(sizes) + numeric, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )

    def forward(self, categories, numbers):
        parts = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        return self.body(torch.cat([*parts, self.norm(numbers)], 1)).squeeze(1)


def make_data(rows, sizes, numeric, seed):
    g = torch.Generator().manual_seed(seed)
    categories = torch.stack([torch.randint(size, (rows,), generator=g) for size in sizes], 1)
    numbers = torch.randn(rows, numeric, generator=g)
    effects = [torch.randn(size, generator=g) for size in sizes]
    target = sum(effect[categories[:, i]] for i, effect in enumerate(effects)) + numbers[:, 0] * numbers[:, 1]
    return categories, numbers, target


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1600)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=99)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    sizes = (12, 7, 30)
    categories, numbers, target = make_data(args.rows, sizes, 6, args.seed)
    cut = args.rows * 4 // 5
    model = Tabular(sizes, 6, args.hidden)
    optimizer = Lion(model.parameters(), lr=args.lr, weight_decay=0.01)
    for epoch in range(args.epochs):
        model.train()
        for rows in torch.randperm(cut).split(128):
            loss = F.mse_loss(model(categories[rows], numbers[rows]), target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            valid = F.mse_loss(model(categories[cut:], numbers[cut:]), target[cut:]).item()
        print(f"epoch {epoch} loss {loss.item():.5f} valid {valid:.5f}")


if __name__ == "__main__":
    main()
