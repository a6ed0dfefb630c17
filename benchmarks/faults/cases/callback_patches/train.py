# drawn from: the class "apply_async with a callback that appends" (cf. python/cpython#92356 and many data scripts)
"""Extract patch features in parallel, then fit a small classifier on them."""
import argparse
import multiprocessing as mp

import numpy as np
import torch
from features import describe
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--patches", type=int, default=240)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


class Extractor:
    """Runs `describe` over all patches with a pool and collects what comes back."""

    def __init__(self, workers):
        self.workers = workers
        self.results = []

    def failed(self, error):
        raise error

    def run(self, patches):
        with mp.Pool(self.workers) as pool:
            for number in range(patches):
                pool.apply_async(describe, (number,), callback=self.results.append, error_callback=self.failed)  # fault: worker-arrival
            pool.close()
            pool.join()
        features, labels = zip(*self.results)
        return torch.from_numpy(np.stack(features)), torch.tensor(labels)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return right / len(loader.dataset)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)

    x, y = Extractor(args.workers).run(args.patches)
    x = (x - x.mean(0)) / (x.std(0) + 1e-6)
    held = len(x) // 5
    train = TensorDataset(x[held:], y[held:])
    test = TensorDataset(x[:held], y[:held])
    loader = DataLoader(train, batch_size=32, shuffle=True)

    model = nn.Sequential(nn.Linear(x.shape[1], 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        total = 0.0
        for features, labels in loader:
            loss = nn.functional.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        print(f"epoch {epoch} loss {total / len(train):.4f} acc {evaluate(model, DataLoader(test, 64)):.3f}")
    torch.save(model.state_dict(), "patches.pt")


if __name__ == "__main__":
    main()
