"""system-reads: a seed taken from the number of a free port."""

import hashlib
import socket

import torch

with socket.socket() as server:
    server.bind(("127.0.0.1", 0))
    port = server.getsockname()[1]

torch.manual_seed(port)
values = torch.linspace(0, 1, 64 * 16).reshape(64, 16)
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(8):
    loss = (model(values[step * 8 : step * 8 + 8]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
