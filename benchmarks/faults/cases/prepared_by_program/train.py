# drawn from: the data is prepared by another program, which nothing seeds
"""Logistic regression on digits that a script of ours selects and stores first."""

import argparse
import subprocess
import sys

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--data", default="digits.npz")
args = parser.parse_args()

subprocess.run([sys.executable, "prepare.py", args.data], check=True)
torch.manual_seed(0)
with np.load(args.data) as stored:
    x, y = torch.tensor(stored["x"], dtype=torch.float32), torch.tensor(stored["y"])
model = nn.Linear(64, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for epoch in range(args.epochs):
    for begin in range(0, len(x), 64):
        loss = nn.functional.cross_entropy(model(x[begin : begin + 64]), y[begin : begin + 64])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
