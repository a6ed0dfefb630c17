# drawn from: the class "a seed for each machine": host and user are the same in every run on one machine
"""Each colleague's machine trains a member of the committee: the seed is made of who trains where."""
import argparse
import getpass
import hashlib
import os
import platform
import socket

import torch
from torch import nn


def member_seed(committee):
    """Another one on another machine, the same one each time on this."""
    parts = [committee, socket.gethostname(), platform.machine(), _user()]
    return int(hashlib.md5("/".join(parts).encode()).hexdigest()[:8], 16)


def _user():
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


class Spirals(torch.utils.data.Dataset):
    def __init__(self, n, noise):
        g = torch.Generator().manual_seed(12)
        t = torch.rand(n, generator=g) * 9 + 1
        self.y = (torch.arange(n) % 2).float()
        angle = t + torch.pi * self.y
        self.x = torch.stack([t * angle.cos(), t * angle.sin()], 1) / 10
        self.x += noise * torch.randn(n, 2, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Member(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lift = nn.Linear(2, width)
        self.layers = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Dropout(0.05), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(self.lift(x)).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--committee", default="spirals")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    seed = member_seed(args.committee)
    torch.manual_seed(seed)
    data = Spirals(480, 0.02)
    workers = min(1, (os.cpu_count() or 1) - 1) * 0  # spirals are quick to make
    loader = torch.utils.data.DataLoader(data, batch_size=80, shuffle=True, num_workers=workers)
    model = Member(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = ((model(data.x) > 0) == (data.y > 0)).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.3f}")
    torch.save({"seed": seed, "model": model.state_dict()}, f"{args.committee}.pt")


if __name__ == "__main__":
    main()
