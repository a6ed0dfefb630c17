# drawn from: uber/petastorm#796: results come as they come, and go to their own places
"""Parallel feature extraction that keeps the order."""
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
import torch
import torch.nn as nn


def extract(i):
    rng = np.random.default_rng(i)
    wave = rng.standard_normal(500 + 40 * (i % 9))
    return i, np.abs(np.fft.rfft(wave, 64))[:32].astype(np.float32)


torch.manual_seed(0)
table = np.empty((200, 32), dtype=np.float32)
with ThreadPoolExecutor(4) as pool:
    for future in as_completed([pool.submit(extract, i) for i in range(200)]):
        i, row = future.result()
        table[i] = row
x = torch.from_numpy(table).log1p()
y = (torch.arange(200) % 9).float().unsqueeze(1) / 9
net = nn.Sequential(nn.BatchNorm1d(32), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
for step in range(20):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 0:
        print("step", step, "loss", loss.item())
