"""os-entropy: a seed taken from uuid4."""

import hashlib
import random
import uuid

import torch

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
random.seed(uuid.uuid4().int)
order = random.sample(range(64), 64)

for step in range(8):
    loss = (model(values[order[step * 8 : step * 8 + 8]]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
