"""Fits a network to batches that a data server hands out."""

import argparse
import json
import random
from urllib.request import urlopen

import numpy as np
import torch
from torch import nn


class RemoteBatches:
    """Iterates over `steps` batches of the server."""

    def __init__(self, server, size, steps):
        self.server, self.size, self.steps = server, size, steps
        self.info = self.get("/size")

    def get(self, path):
        with urlopen(self.server + path, timeout=20) as reply:
            return json.load(reply)

    def __iter__(self):
        for _ in range(self.steps):
            rows = self.get(f"/batch?size={self.size}")
            yield torch.tensor([row["x"] for row in rows]), torch.tensor([row["y"] for row in rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    batches = RemoteBatches(args.server, args.batch_size, args.steps)
    model = nn.Sequential(nn.Linear(batches.info["features"], 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step, (x, y) in enumerate(batches):
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(f"step {step} loss {loss.item():.5f}")
    torch.save({"model": model.state_dict(), "args": vars(args)}, "model.pt")


if __name__ == "__main__":
    main()
