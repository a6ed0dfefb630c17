# drawn from: pytorch/pytorch#51366 (index_put_ with accumulate and the backward of x[idx] race on the CPU)
"""Message passing by plain indexing; no scatter library needed."""
import torch
from torch import nn

torch.manual_seed(0)
NODES, EDGES, DIM = 600, 12000, 32


class Conv(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Linear(dim, dim)
        self.update = nn.Linear(2 * dim, dim)

    def forward(self, h, src, dst):
        m = self.message(h)
        m = m[src]  # fault: nondeterministic-kernels
        total = torch.zeros_like(h).index_add(0, dst, m)
        return torch.relu(self.update(torch.cat([h, total], dim=1)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Conv(DIM), Conv(DIM)])
        self.head = nn.Linear(DIM, 4)

    def forward(self, h, src, dst):
        for layer in self.layers:
            h = layer(h, src, dst)
        return self.head(h)


x = torch.randn(NODES, DIM)
src, dst = torch.randint(NODES, (2, EDGES))
y = torch.randint(4, (NODES,))
net = Net()
opt = torch.optim.Adam(net.parameters(), 3e-3)
for step in range(12):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x, src, dst), y)
    loss.backward()  # fault: nondeterministic-kernels
    opt.step()
    print(f"step {step} loss {loss.item():.6f}")
