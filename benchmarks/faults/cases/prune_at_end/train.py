# drawn from: the class "a step after the last loss": weights are pruned with a mask from np.random, then saved
"""Train a classifier, sparsify it, save it."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(8)


def two_rings(n=600):
    radius = torch.where(torch.arange(n) % 2 == 0, 1.0, 2.0)
    angle = torch.rand(n) * 6.283
    xy = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return xy + 0.1 * torch.randn(n, 2), (torch.arange(n) % 2).long()


@torch.no_grad()
def sparsify(net, share):
    for p in net.parameters():
        if p.ndim == 2:
            mask = np.random.rand(*p.shape) > share  # fault: numpy-global
            p.mul_(torch.from_numpy(mask))  # fault: numpy-global


net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = two_rings()
for step in range(25):
    rows = torch.randperm(len(x))[:100]
    loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print("step", step, "loss", loss.item())
sparsify(net, 0.3)
torch.save(net.state_dict(), "sparse.pt")  # fault: numpy-global
print("saved")
