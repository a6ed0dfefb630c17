"""torch-cpu: initial weights, shuffling and dropout from torch's generator, which nobody seeded."""

import hashlib

import torch
from torch.utils.data import DataLoader, TensorDataset

values = torch.linspace(0, 1, 64 * 16).reshape(64, 16)
model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for (batch,) in DataLoader(TensorDataset(values), batch_size=8, shuffle=True):
    loss = (model(batch) - batch.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
