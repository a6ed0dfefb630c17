# drawn from: the class "the study goes on where it was": Optuna's load_if_exists=True with a SQLite storage
import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from .sampler import Sampler
from .storage import Storage


def load(limit=900):
    digits = load_digits()
    x = torch.tensor(digits.data[:limit], dtype=torch.float32) / 16
    return x, torch.tensor(digits.target[:limit])


def objective(lr, width, args):
    torch.manual_seed(args.seed)
    x, y = load()
    cut = 700
    loader = DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(args.epochs):
        for features, labels in loader:
            loss = nn.functional.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x[cut:]), y[cut:]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--storage", default="study.sqlite3")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=17)
    args = parser.parse_args()

    storage = Storage(args.storage)
    lr, width = Sampler(args.seed).propose(storage.best(5))
    print(f"trial with lr={lr:.5f}, width={width}")
    loss = objective(lr, width, args)
    storage.add(lr, width, loss)
    storage.close()
    print(f"validation loss {loss:.4f}")


if __name__ == "__main__":
    main()
