# drawn from: albumentations#246 and its like: threads share NumPy's global generator, so who draws first is a race
"""Digits, distorted anew each epoch by a pool of threads."""
import argparse
import random
from multiprocessing.pool import ThreadPool

import numpy as np
import torch
from augment import distort
from sklearn.datasets import load_digits
from torch import nn


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 12, 3)
        self.norm = nn.GroupNorm(3, 12)
        self.head = nn.Linear(12 * 36, 10)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


def evaluate(model, images, labels):
    model.eval()
    with torch.no_grad():
        acc = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return acc


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    seed_all(args.seed)
    digits = load_digits()
    images = digits.images[: args.images] / 16
    labels = torch.tensor(digits.target)
    test = torch.tensor(digits.images[args.images : args.images + 200], dtype=torch.float32)[:, None] / 16
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with ThreadPool(args.threads) as pool:
        for epoch in range(args.epochs):
            order = torch.randperm(len(images))
            for rows in order.split(50):
                x = np.stack(pool.map(distort, [images[i] for i in rows.tolist()], chunksize=1))  # fault: thread-scheduling
                loss = nn.functional.cross_entropy(model(torch.from_numpy(x)[:, None]), labels[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            acc = evaluate(model, test, labels[args.images : args.images + 200])
            print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
