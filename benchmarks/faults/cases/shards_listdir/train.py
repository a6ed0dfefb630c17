# drawn from: ByteDance-Seed/VeOmni#330 (os.listdir gives the data files in another order)
"""Write the shards to fast storage with a few threads, then train on them, shard by shard."""
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

root = tempfile.mkdtemp(dir="/dev/shm")


def prepare(i):
    rng = np.random.default_rng(i)
    x = rng.normal(size=(96, 12)).astype(np.float32)
    np.savez_compressed(os.path.join(root, f"part-{i:02d}.npz"), x=x, y=(x[:, :2].sum(1) > 0).astype(np.float32))


with ThreadPoolExecutor(8) as pool:
    list(pool.map(prepare, range(20)))

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(12, 24), torch.nn.ReLU(), torch.nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
try:
    for name in os.listdir(root):  # fault: listing-order
        part = np.load(os.path.join(root, name))
        x, y = torch.from_numpy(part["x"]), torch.from_numpy(part["y"])
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"shard loss {loss.item():.5f}")
finally:
    shutil.rmtree(root)
