import math

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, steps, hidden=48):
        super().__init__()
        half = torch.arange(8) * math.log(1000) / 8
        self.register_buffer("frequencies", torch.exp(-half))
        self.net = nn.Sequential(nn.Linear(2 + 16, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))
        self.register_buffer("alpha", torch.cumprod(1 - torch.linspace(1e-4, 0.05, steps), 0))

    def forward(self, x, t):
        angle = t[:, None] * self.frequencies
        return self.net(torch.cat([x, angle.sin(), angle.cos()], 1))

    def loss(self, x, generator):
        t = torch.randint(len(self.alpha), (len(x),), generator=generator)
        noise = torch.randn(x.shape, generator=generator)
        a = self.alpha[t][:, None]
        return (self(a.sqrt() * x + (1 - a).sqrt() * noise, t) - noise).square().mean()
