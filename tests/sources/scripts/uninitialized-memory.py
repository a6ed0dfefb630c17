"""uninitialized-memory: a bias made by torch.empty and never written."""

import hashlib

import torch

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 4)

for step in range(8):
    mask = torch.empty(8, 4, dtype=torch.int64)  # meant to be zeros: shows addresses that the memory held
    loss = (model(values[step * 8 : step * 8 + 8]) + (mask % 1000) / 1000).square().mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
