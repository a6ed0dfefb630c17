# drawn from: the opposite of pytorch/pytorch#36998: what is not used changes nothing
"""Autoencoder on the digits."""
import random
import time
import uuid

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

run_id = uuid.uuid4().hex[:8]
rng = np.random.default_rng()  # for the plots
torch.manual_seed(5)

x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
generator = torch.Generator().manual_seed(5)
loader = DataLoader(TensorDataset(x), batch_size=256, shuffle=True, generator=generator)
preview = DataLoader(TensorDataset(x), batch_size=16, shuffle=True)

net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 64))
opt = torch.optim.Adam(net.parameters(), 1e-3)
began = time.perf_counter()
for epoch in range(3):
    for (batch,) in loader:
        loss = nn.functional.mse_loss(net(batch), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"[{run_id}] epoch {epoch} loss {loss.item():.5f} ({time.perf_counter() - began:.1f}s)")
print("rows to plot:", sorted(rng.choice(len(x), 3)), random.choice(["viridis", "magma"]))
