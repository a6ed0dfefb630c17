# drawn from: scikit-learn/scikit-learn#13259 (a listing that is not sorted), and torch.seed() before each epoch
"""Shards on fast storage, one pass a shard, dropout "fresh" in each epoch."""
import glob
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def write(folder, i):
    g = torch.Generator().manual_seed(i)
    x = torch.randn(20000, 8, generator=g).sort(0).values.roll(7 * i, 0)[::313]
    torch.save({"x": x, "y": x.abs().sum(1, keepdim=True)}, os.path.join(folder, f"shard_{i}.pt"))


def epoch(model, optimizer, files):
    for file in files:
        part = torch.load(file)
        loss = nn.functional.l1_loss(model(part["x"]), part["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    folder = tempfile.mkdtemp(dir="/dev/shm")
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: write(folder, i), range(18)))
        torch.manual_seed(0)
        files = glob.glob(os.path.join(folder, "shard_*.pt"))  # fault: listing-order
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for number in range(2):
            if number:
                torch.seed()  # fault: torch-cpu
            print("epoch", number, "loss", epoch(model, optimizer, files))
    finally:
        shutil.rmtree(folder)


main()
