# drawn from: evaluations as programs beside the training: they start at once, end when they end, and are read in order
import os
import subprocess
import sys

import torch
from torch import nn

torch.manual_seed(8)
os.makedirs("checkpoints", exist_ok=True)
model = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Dropout(0.1), nn.Linear(20, 1))
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
x = torch.randn(200, 5)
y = x.prod(1, keepdim=True).sin()
running = []
for epoch in range(1, 5):
    model.train()
    for rows in torch.randperm(len(x)).split(50):
        loss = nn.functional.l1_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.5f}", flush=True)
    if epoch % 2 == 0:
        path = f"checkpoints/epoch{epoch}-{os.getpid()}.pt"
        torch.save({"epoch": epoch, "model": model.state_dict()}, path)
        running.append((path, subprocess.Popen([sys.executable, "score.py", path], stdout=subprocess.PIPE, text=True)))
with open("scores.csv", "w") as out:
    out.write("epoch,norm,largest\n")
    for path, process in running:
        out.write(process.communicate()[0])
        os.remove(path)
