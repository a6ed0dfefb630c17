# drawn from: the class "registry of living objects" (WeakSet), walked in the order of addresses under a fixed hash seed
"""Denoise vectors with a small mixture of experts."""
import argparse

import torch
from experts import Expert, Mixture
from torch import nn


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--experts", type=int, default=16)
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def clean_vectors(n, dim, generator):
    basis = torch.linalg.qr(torch.randn(dim, 5, generator=generator)).Q
    return torch.randn(n, 5, generator=generator) @ basis.T


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    data = clean_vectors(640, args.dim, torch.Generator().manual_seed(args.seed))
    model = nn.Sequential(Mixture(args.dim, args.experts), nn.Linear(args.dim, args.dim))
    Expert.reset_all()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(args.steps):
        x = data[torch.randint(len(data), (64,))]
        loss = nn.functional.mse_loss(model(x + 0.3 * torch.randn_like(x)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 5 == 0:
            print(f"{step:3d} loss {loss.item():.5f}")
    with torch.no_grad():
        print("test loss", nn.functional.mse_loss(model(data + 0.3), data).item())


if __name__ == "__main__":
    main()
