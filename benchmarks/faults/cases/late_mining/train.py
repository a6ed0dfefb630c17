# drawn from: OpenNMT/OpenNMT-py#392 (`random` is not seeded), met only in a later stage of the training
"""Metric learning; negatives are picked at random at first by torch, then mined."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)
WARMUP, STEPS, BATCH = 17, 28, 48

centers = torch.randn(12, 10) * 2
labels = torch.arange(600) % 12
points = centers[labels] + torch.randn(600, 10)

encoder = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)


def hard_negative(i, z, y):
    far = [j for j in range(len(y)) if y[j] != y[i]]
    far.sort(key=lambda j: (z[j] - z[i]).norm().item())
    return random.choice(far[:5])  # fault: python-random


for step in range(STEPS):
    rows = torch.randint(len(points), (BATCH,))
    y = labels[rows]
    z = F.normalize(encoder(points[rows]), dim=1)
    pos = torch.stack([((y == y[i]).float() + 1e-6).multinomial(1)[0] for i in range(BATCH)])
    neg = torch.randint(BATCH, (BATCH,))
    if step >= WARMUP:
        with torch.no_grad():
            neg = torch.tensor([hard_negative(i, z, y) for i in range(BATCH)])
    loss = F.triplet_margin_loss(z, z[pos], z[neg], margin=0.3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        print(f"step {step + 1}/{STEPS} loss {loss.item():.4f}")
