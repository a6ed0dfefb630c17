# drawn from: pytorch/pytorch#4640, meta-pytorch/data#1523 (results taken in the order of arrival)
"""Extract features with a pool of processes, then fit a head on them."""
import multiprocessing as mp

import numpy as np
import torch
import torch.nn as nn


def extract(item):
    index, size = item
    rng = np.random.default_rng(index)
    signal = np.cumsum(rng.standard_normal(size))
    spectrum = np.abs(np.fft.rfft(signal, n=4096))[:32]
    return np.log1p(spectrum).astype(np.float32), np.float32(signal[-1] > 0)


def main():
    torch.manual_seed(0)
    sizes = np.random.default_rng(1).integers(500, 20000, size=240)
    features, targets = [], []
    with mp.get_context("fork").Pool(3) as pool:
        for feature, target in pool.imap_unordered(extract, enumerate(sizes)):  # fault: worker-arrival
            features.append(feature)
            targets.append(target)
    x, y = torch.from_numpy(np.stack(features)), torch.tensor(targets)
    head = nn.Linear(32, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.01)
    for step in range(15):
        rows = slice(16 * step, 16 * step + 16)
        loss = nn.functional.binary_cross_entropy_with_logits(head(x[rows]).squeeze(1), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{step}: loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
