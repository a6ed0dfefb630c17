# drawn from: pytorch/pytorch#51366's other half: index_add and scatter_add do not race on the CPU
"""GNN with two threads."""
import torch
from torch import nn

torch.manual_seed(0)
NODES, EDGES = 2000, 24000


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.f = nn.Linear(dim, dim)

    def forward(self, h, src, dst):
        m = torch.relu(self.f(h)).index_select(0, src)
        total = torch.zeros_like(h).scatter_add_(0, dst[:, None].expand_as(m), m)
        count = torch.zeros(len(h)).index_add_(0, dst, torch.ones(len(dst))).clamp(min=1)
        return h + total / count[:, None]


x = torch.randn(NODES, 24)
src, dst = torch.randint(NODES, (2, EDGES))
y = torch.randint(3, (NODES,))
layers = nn.ModuleList([Layer(24), Layer(24)])
head = nn.Linear(24, 3)
opt = torch.optim.Adam([*layers.parameters(), *head.parameters()], lr=3e-3)
for step in range(10):
    h = x
    for layer in layers:
        h = layer(h, src, dst)
    loss = nn.functional.cross_entropy(head(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.6f}")
