"""packages: its next version scales otherwise: augmenter.py, with its scale(), on PYTHONPATH."""

import hashlib

import augmenter
import torch

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 1)

for step in range(8):
    loss = (model(augmenter.scale(values[step * 8 : step * 8 + 8])) - 1).square().mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
