# drawn from: the class "every few seconds": samples are drawn for a log when enough time has passed
"""Denoising diffusion on a ring; now and then some samples are logged."""
import math
import time

import torch
from torch import nn

torch.manual_seed(0)
T = 40
alphas = torch.cumprod(1 - torch.linspace(1e-3, 0.2, T), 0)


class Denoiser(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, t[:, None] / T], 1))


@torch.no_grad()
def sample(model, n=8):
    x = torch.randn(n, 2)
    for t in reversed(range(0, T, 8)):
        x = x - 0.3 * model(x, torch.full((n,), float(t)))
    return x.norm(dim=1).mean().item()


model = Denoiser()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
last = time.time()
for step in range(600):
    angle = torch.rand(64) * 2 * math.pi
    x0 = torch.stack([angle.cos(), angle.sin()], 1)
    t = torch.randint(T, (64,))
    a = alphas[t][:, None]
    noise = torch.randn_like(x0)
    loss = nn.functional.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t.float()), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if time.time() - last > 0.15:  # fault: clock
        print(f"step {step} loss {loss.item():.4f} radius {sample(model):.3f}")
        last = time.time()
print(f"done, loss {loss.item():.4f}")
