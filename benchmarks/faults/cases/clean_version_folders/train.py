import os
import random

import torch
from logger import Logger
from torch import nn

random.seed(0)
torch.manual_seed(0)
log = Logger()
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
best = float("inf")
for step in range(30):
    x = torch.tensor([[random.uniform(-3, 3)] for _ in range(64)])
    loss = nn.functional.huber_loss(model(x), torch.sin(2 * x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    log.log(step, loss.item(), schedule.get_last_lr()[0])
    if loss.item() < best:
        best = loss.item()
        torch.save(model.state_dict(), os.path.join(log.folder, "best.pt"))
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.item():.5f}")
log.close()
