# drawn from: the class "default_rng() in the worker" done right: processes draw, each from a seed of its job, and the order is kept
"""Calibrates a model by a network: simulate in processes, then regress the parameters."""
import argparse
import multiprocessing as mp
import os
import random

import numpy as np
import torch
from simulate import path
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def start_worker():
    """Libraries that draw in a worker should not all draw alike."""
    random.seed()
    np.random.seed(os.getpid())


def simulate(count, steps, processes):
    parameters, paths = [], []
    with mp.get_context("fork").Pool(processes, start_worker) as pool:
        for theta, returns in pool.imap(path, [(i, steps) for i in range(count)], chunksize=16):
            parameters.append(theta)
            paths.append(returns)
    return torch.tensor(parameters), torch.from_numpy(np.stack(paths))


class Calibrator(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(2, width, 5, stride=2), nn.LeakyReLU(), nn.Conv1d(width, width, 5, stride=2))
        self.out = nn.Linear(2 * width, 2)

    def forward(self, returns):
        h = self.features(torch.stack([returns, returns.abs()], 1) * 5)
        return self.out(torch.cat([h.mean(2), h.std(2)], 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=256)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(3)
    theta, returns = simulate(args.paths, args.steps, args.processes)
    theta = (theta - theta.mean(0)) / theta.std(0)
    cut = args.paths * 3 // 4
    loader = DataLoader(TensorDataset(returns[:cut], theta[:cut]), batch_size=32, shuffle=True)
    model = Calibrator()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.huber_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            valid = nn.functional.huber_loss(model(returns[cut:]), theta[cut:]).item()
        print(f"epoch {epoch} loss {loss.item():.4f} valid loss {valid:.4f}")
    torch.save(model.state_dict(), "calibrator.pt")


if __name__ == "__main__":
    main()
