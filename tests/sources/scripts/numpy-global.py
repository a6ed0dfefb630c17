"""numpy-global: noise from `np.random`, which nobody seeded."""

import hashlib

import numpy as np
import torch

torch.manual_seed(0)
signals, targets = torch.rand(64, 16), torch.rand(64, 1)
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(8):
    rows = slice(step * 8, step * 8 + 8)
    noise = np.random.normal(0, 0.1, size=(8, 16)).astype(np.float32)
    loss = torch.nn.functional.mse_loss(model(signals[rows] + torch.from_numpy(noise)), targets[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
