"""code: a module of the project is edited between the runs: recipe.py, with its rate()."""

import hashlib

import recipe
import torch

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 1)

for step in range(8):
    loss = (model(values[step * 8 : step * 8 + 8]) - 1).square().mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - recipe.rate(step) * p.grad, None

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
