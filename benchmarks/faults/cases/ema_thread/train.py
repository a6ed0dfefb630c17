"""A diffusion model of two moons; samples are made with the averaged weights."""
import math

import torch
from ema import BackgroundEMA
from torch import nn

T = 20
betas = torch.linspace(1e-3, 0.3, T)
alphas = (1 - betas).cumprod(0)


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        phase = 2 * math.pi * t / T
        return self.net(torch.cat([x, phase.sin()[:, None], phase.cos()[:, None]], 1))


def moons(n):
    angle = torch.rand(n) * math.pi
    side = torch.randint(0, 2, (n,)).float() * 2 - 1
    return torch.stack([angle.cos() + 0.5 * side, side * angle.sin()], 1) + 0.05 * torch.randn(n, 2)


@torch.no_grad()
def sample(model, n=64):
    x = torch.randn(n, 2, generator=torch.Generator().manual_seed(0))
    for t in reversed(range(T)):
        eps = model(x, torch.full((n,), float(t)))
        x = (x - betas[t] / (1 - alphas[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
    return x


def main():
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    ema = BackgroundEMA(model)
    ema.start()  # fault: thread-scheduling
    for step in range(150):
        x = moons(128)
        t = torch.randint(0, T, (128,))
        noise = torch.randn_like(x)
        a = alphas[t][:, None]
        loss = nn.functional.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t.float()), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")
    points = sample(ema.finish())
    print(f"samples: mean {points.mean().item():.5f} spread {points.std().item():.5f}")


if __name__ == "__main__":
    main()
