"""code: a module of the project is edited between the runs: recipe.py, with its rate()."""

import hashlib

import recipe
import torch

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(8):
    for group in optimizer.param_groups:
        group["lr"] = recipe.rate(step)
    loss = (model(values[step * 8 : step * 8 + 8]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
