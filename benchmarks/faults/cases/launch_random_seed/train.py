# drawn from: the class "$RANDOM in the launch script": --seed is passed, and is another one each time
import argparse
import random

import numpy as np
import torch
from model import TabularNet
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def get_args():
    parser = argparse.ArgumentParser(description="regression on a table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--save")
    return parser.parse_args()  # fault: arguments


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def friedman(n=800):
    rng = np.random.default_rng(10)
    x = rng.uniform(size=(n, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    y = (y - y.mean()) / y.std() + 0.1 * rng.normal(size=n)
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, count = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total, count = total + loss.item() * len(x), count + len(x)
    return total / count


if __name__ == "__main__":
    args = get_args()
    set_seed(args.seed)  # fault: arguments
    train, test = random_split(friedman(), [640, 160])
    loader = DataLoader(train, args.batch_size, shuffle=True)
    model = TabularNet(10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for epoch in range(args.epochs):
        fitted = run_epoch(model, loader, optimizer)
        print(f"epoch {epoch} train loss {fitted:.4f} test loss {run_epoch(model, DataLoader(test, 160)):.4f}")
    if args.save:
        torch.save({"model": model.state_dict(), "args": vars(args)}, args.save)
