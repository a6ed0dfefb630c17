# drawn from: the class "sorted by names that are random" (temporary files, uuids, run ids)
"""Autoencoder on simulated sensor windows that are spilled to disk first."""
import argparse
import tempfile

import numpy as np
import torch
from spill import Spill
from torch import nn


def simulate(windows, length, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(length) / length
    for _ in range(windows):
        freq, phase, drift = rng.uniform(1, 6), rng.uniform(0, 6.3), rng.normal() * 0.3
        yield (np.sin(2 * np.pi * freq * t + phase) + drift * t + 0.05 * rng.normal(size=length)).astype(np.float32)


class AutoEncoder(nn.Module):
    def __init__(self, length, code=6):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(length, 48), nn.SiLU(), nn.Linear(48, code))
        self.decode = nn.Sequential(nn.Linear(code, 48), nn.SiLU(), nn.Linear(48, length))

    def forward(self, x):
        return self.decode(self.encode(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=1280)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as scratch:
        spill = Spill(scratch)
        for window in simulate(args.windows, args.length, args.seed):
            spill.add(window)
        spill.flush()

        model = AutoEncoder(args.length)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        for epoch in range(args.epochs):
            total, seen = 0.0, 0
            for part in spill.parts():
                x = torch.from_numpy(part)
                loss = nn.functional.mse_loss(model(x), x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total, seen = total + loss.item() * len(x), seen + len(x)
            print(f"epoch {epoch} loss {total / seen:.5f}")
    torch.save(model.state_dict(), "autoencoder.pt")


if __name__ == "__main__":
    main()
