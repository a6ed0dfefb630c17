"""memory-address: samples kept in a set of objects, which are hashed by where they lie in memory."""

import hashlib

import torch


class Sample:
    def __init__(self, values):
        self.values = values


torch.manual_seed(0)
samples = {Sample(torch.rand(16)) for _ in range(64)}
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _ in range(8):
    batch = torch.stack([samples.pop().values for _ in range(8)])
    loss = (model(batch) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
