"""resume-state: goes on from the checkpoint that the run before it left; run it in one folder, twice."""

import hashlib
import os

import torch

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 1)
if os.path.exists("last.pt"):
    model.load_state_dict(torch.load("last.pt"))

for step in range(8):
    loss = (model(values[step * 8 : step * 8 + 8]) - 1).square().mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None

torch.save(model.state_dict(), "last.pt")
weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
