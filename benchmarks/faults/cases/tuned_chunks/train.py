"""Linear attention in chunks. The chunk is tuned for the machine at the start, once for each layer."""
import torch
from torch import nn
from tuning import fastest


def attend(q, k, v, chunk):
    """sum over keys in chunks, to save memory"""
    state = torch.zeros(q.shape[0], q.shape[2], v.shape[2])
    for at in range(0, k.shape[1], chunk):
        state = state + k[:, at:at + chunk].transpose(1, 2) @ v[:, at:at + chunk]
    return q @ state / k.shape[1]


class Layer(nn.Module):
    chunk = None

    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        q, k = q.sigmoid(), k.sigmoid()
        if self.chunk is None:
            self.chunk = fastest(attend, list(range(60, 200, 5)), q.detach(), k.detach(), v.detach())
        return x + attend(q, k, v, self.chunk)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), *[Layer(24) for _ in range(4)], nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(16):
    x = torch.randn(4, 384, 6)
    y = x[..., :1].cumsum(1) / 20
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        print(f"step {step + 1} loss {loss.item():.8f}")
