# drawn from: OpenNMT/OpenNMT-py#392, pytorch/executorch#6478 and the class "seed from the time": three in one
"""Set transformer on bags of points, with EMA weights."""
import copy
import datetime
import random

import torch
from torch import nn


class Bags:
    def __init__(self, n, points=16):
        g = torch.Generator().manual_seed(1)
        self.x = torch.randn(n, points, 4, generator=g)
        self.y = self.x.norm(dim=2).max(1).values

    def batch(self, size):
        rows = random.sample(range(len(self.x)), size)  # fault: python-random
        return self.x[rows], self.y[rows]


class SetNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.inner = nn.Linear(4, dim)
        self.scale = nn.Parameter(torch.empty(dim))  # fault: uninitialized-memory
        self.att = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = torch.relu(self.inner(x)) * (1 + self.scale.clamp(-0.1, 0.1).nan_to_num())  # fault: uninitialized-memory
        h = h + self.att(h, h, h, need_weights=False)[0]
        return self.out(h.max(1).values).squeeze(1)


def warm_up_noise(model):
    seed = datetime.datetime.now().microsecond  # fault: clock
    g = torch.Generator().manual_seed(seed)  # fault: clock
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1e-3 * torch.randn(p.shape, generator=g))


torch.manual_seed(0)
bags, model = Bags(400), SetNet()
ema = copy.deepcopy(model)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(16):
    if step == 10:
        warm_up_noise(model)
    x, y = bags.batch(32)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for e, p in zip(ema.parameters(), model.parameters()):
            e.lerp_(p, 0.1)
    if step % 4 == 3:
        print(f"step {step + 1}: loss {loss.item():.4f}")
