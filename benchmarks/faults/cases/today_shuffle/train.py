# drawn from: the class "datetime.now() as a seed", here for the order of the curriculum
import random
from datetime import datetime

import torch
from torch import nn

torch.manual_seed(0)
rng = random.Random(datetime.now().timestamp())  # fault: clock


class Curriculum:
    """Easy examples first, with some disorder."""

    def __init__(self, x, y, disorder=0.2):
        hardness = x.norm(dim=1).tolist()
        keys = [h + rng.gauss(0, disorder) for h in hardness]  # fault: clock
        self.order = sorted(range(len(x)), key=keys.__getitem__)
        self.x, self.y = x, y

    def batches(self, size):
        for i in range(0, len(self.order), size):
            rows = self.order[i : i + size]
            yield self.x[rows], self.y[rows]


x = torch.randn(960, 5)
y = (x.prod(1, keepdim=True) > 0).float()
net = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adamax(net.parameters(), lr=5e-3)
losses = []
for xb, yb in Curriculum(x, y).batches(40):
    opt.zero_grad()
    loss = nn.BCEWithLogitsLoss()(net(xb), yb)
    loss.backward()
    opt.step()
    losses.append(loss.item())
print("first loss", losses[0], "last loss", losses[-1])
