"""input-data: a file of rows that something else appends to; run it in one folder, twice."""

import hashlib
import subprocess

import torch

# stands for the colleague who updates the data between two runs
update = "echo $(( $(cat rows.txt 2>/dev/null || echo 0) + 1 )) > rows.tmp; mv rows.tmp rows.txt"
subprocess.run(["sh", "-c", update])

with open("rows.txt") as file:
    scale = float(file.read())

torch.manual_seed(0)
values = torch.rand(64, 16) * scale
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)

for step in range(8):
    loss = (model(values[step * 8 : step * 8 + 8]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
