# drawn from: pytorch/vision#193: what was listed is sorted, or only counted
"""Shards written by threads, read in order of their names."""
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import nn

root = Path(tempfile.mkdtemp(dir="/dev/shm"))


def write(i):
    g = torch.Generator().manual_seed(i)
    torch.save(torch.randn(48, 7, generator=g), root / f"{i:02d}.pt")


try:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(14)))
    print("shards:", len(os.listdir(root)), "bytes:", sum(e.stat().st_size for e in os.scandir(root)))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(7, 21), nn.ReLU(), nn.Linear(21, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for file in sorted(root.glob("*.pt")):
        x = torch.load(file)
        loss = (net(x).squeeze(1) - x.max(1).values).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(file.name, "loss", loss.item())
finally:
    shutil.rmtree(root)
