"""arguments: another learning rate on the command line; run it with --lr 0.1 and with --lr 0.2."""

import argparse
import hashlib

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
arguments = parser.parse_args()

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr)

for step in range(8):
    loss = (model(values[step * 8 : step * 8 + 8]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
