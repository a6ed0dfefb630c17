# drawn from: microsoft/FLAML#1369, SauersML/gam#2055 (a loop that ends by the clock)
"""Train for as long as we may: half a second."""
import time

import torch
import torch.nn as nn

BUDGET = 0.5  # seconds

torch.manual_seed(3)
data = torch.randn(4096, 20)
target = (data @ torch.randn(20, 1)).tanh()
model = nn.Sequential(nn.Linear(20, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 1))
optim = torch.optim.AdamW(model.parameters(), lr=2e-3)

start, step = time.time(), 0
while time.time() - start < BUDGET:  # fault: clock
    pick = torch.randint(len(data), (512,))
    loss = nn.functional.mse_loss(model(data[pick]), target[pick])
    optim.zero_grad()
    loss.backward()
    optim.step()
    step += 1
    if step % 20 == 0:
        print(f"{step:4d}  loss {loss.item():.5f}")
print("steps done:", step, "final loss", loss.item())
