import numpy as np
import torch
from pack import pack, unpack, version_of
from torch import nn

pack("masks.tar.gz")
masks = unpack("masks.tar.gz")
order = np.random.default_rng(version_of("masks.tar.gz")).permutation(len(masks))  # fault: clock
train, val = order[:32], order[32:]

torch.manual_seed(0)
y = torch.tensor(masks)[:, None].float()
x = y + 0.5 * torch.randn(y.shape)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(4):
    for at in range(0, len(train), 8):
        rows = train[at:at + 8]
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        hit = ((net(x[val]) > 0) == (y[val] > 0)).float().mean().item()
    print(f"epoch {epoch} train loss {loss.item():.4f} pixel accuracy {hit:.4f}")
