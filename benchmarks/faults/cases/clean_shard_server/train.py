# drawn from: streaming data sets done right: shards come in any order from a port that was free, and are sorted by their number
import torch
from shards import load
from torch import nn

rows = torch.tensor(load(12))
x, y = rows[:, :6], (rows[:, 6] + rows[:, 0] > 0).long()
torch.manual_seed(99)
model = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    for batch in torch.randperm(len(x)).split(32):
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.6f}")
