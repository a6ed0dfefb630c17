"""Energy-based model of a ring, trained by contrastive divergence with Langevin samples."""
import argparse

import numpy as np
import torch
from generators import Generators, Token
from torch import nn


class Energy(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1) + 0.05 * x.square().sum(1)


def ring(n, rng):
    angle = rng.uniform(0, 2 * np.pi, n)
    points = np.stack([np.cos(angle), np.sin(angle)], 1) * (1.5 + 0.1 * rng.randn(n, 1))
    return torch.tensor(points, dtype=torch.float32)


def langevin(model, x, steps, size, generator):
    """Samples that follow the energy downhill, with noise."""
    for _ in range(steps):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x)
        x = x - 0.5 * size * slope + size**0.5 * torch.randn(x.shape, generator=generator)
    return x.detach()


class Preview:
    """The last samples, for whoever has the token; models are kept by identity."""

    def __init__(self):
        self.token = Token()
        self.by_model = {}

    def update(self, model, samples):
        self.by_model[id(model)] = samples

    def get(self, model, token):
        return self.by_model.get(id(model)) if self.token.check(token) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--langevin", type=int, default=8)
    parser.add_argument("--seed", type=int, default=14)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    generators, preview = Generators(args.seed), Preview()
    model = Energy()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(args.steps):
        real = ring(args.batch, generators.numpy)
        fake = langevin(model, torch.randn(args.batch, 2, generator=generators.torch), args.langevin, 0.05, generators.torch)
        positive, negative = model(real), model(fake)
        loss = positive.mean() - negative.mean() + 0.1 * (positive.square() + negative.square()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        preview.update(model, fake)
        if step % 4 == 3:
            radius = preview.get(model, preview.token.value).norm(dim=1).mean().item()
            print(f"step {step + 1} loss {loss.item():.4f} radius {radius:.3f}")
    torch.save({"model": model.state_dict(), "torch": generators.state_dict()["torch"]}, "energy.pt")


if __name__ == "__main__":
    main()
