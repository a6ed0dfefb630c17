# drawn from: the class "done, _ = wait(futures)": both are sets, in the order of addresses
"""Simulated light curves, described in threads, sorted into variable stars and others."""
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LightCurve:
    def __init__(self, number):
        self.number = number
        self.variable = number % 2

    def flux(self):
        rng = np.random.default_rng(self.number)
        t = np.linspace(0, 10, 120)
        period = rng.uniform(0.5, 3)
        return 1 + 0.2 * self.variable * np.sin(2 * np.pi * t / period) + rng.normal(0, 0.15, len(t))


def describe(curve):
    flux = curve.flux()
    power = np.abs(np.fft.rfft(flux - flux.mean()))[1:25]
    return power.astype(np.float32), curve.variable


def collect(curves):
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(describe, curve) for curve in curves]
        done, late = wait(futures, timeout=600)  # fault: memory-address
        assert not late
        rows = []
        for future in done:  # fault: memory-address
            rows.append(future.result())
    return rows


def main():
    torch.manual_seed(0)
    rows = collect([LightCurve(i) for i in range(640)])
    x = torch.from_numpy(np.stack([row[0] for row in rows]))
    y = torch.tensor([row[1] for row in rows])
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.BatchNorm1d(24), nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        total = 0
        for features, labels in loader:
            loss = nn.functional.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.5f}")


if __name__ == "__main__":
    main()
