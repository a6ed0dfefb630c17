# drawn from: the class "id() as a key": addresses that are looked up, never ordered
"""Shared layers: each is counted once, whichever names it has."""
import torch
from torch import nn


class Shared(nn.Module):
    def __init__(self, dim=14):
        super().__init__()
        block = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())
        self.blocks = nn.ModuleList([block, nn.Sequential(nn.Linear(dim, dim), nn.Tanh()), block])
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)


def unique(modules):
    seen = set()
    for module in modules:
        if id(module) not in seen:
            seen.add(id(module))
            yield module


torch.manual_seed(0)
net = Shared()
for layer in unique(m for m in net.modules() if isinstance(m, nn.Linear)):
    nn.init.xavier_normal_(layer.weight)
group_of = {id(p): ("bias" if p.ndim == 1 else "weight") for p in net.parameters()}
groups = {"weight": [], "bias": []}
for p in net.parameters():
    groups[group_of[id(p)]].append(p)
frozen = {net.out.bias}
opt = torch.optim.SGD([{"params": groups["weight"]}, {"params": groups["bias"], "lr": 0.01}], lr=0.05)
x = torch.randn(400, 14)
y = (x[:, 0] * x[:, 1] > 0).long()
for step in range(20):
    rows = torch.randint(400, (50,))
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    for p in net.parameters():
        if p in frozen:
            p.grad = None
    opt.step()
    if step % 5 == 0:
        print(step, "loss", loss.item())
