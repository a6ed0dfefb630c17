import torch
from torch import nn


class Member(nn.Module):
    """A small network with a frozen random prior (Osband et al., 2018)."""

    def __init__(self, inputs, hidden, generator):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.prior = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        for p in self.parameters():
            with torch.no_grad():
                p.copy_(0.5 * torch.randn(p.shape, generator=generator))
        self.prior.requires_grad_(False)

    def forward(self, x):
        return (self.body(x) + self.prior(x)).squeeze(1)


def fit(member, x, y, rng, steps, lr):
    """Bootstrap aggregating: each step sees a bag of the samples."""
    optimizer = torch.optim.Adam(member.body.parameters(), lr=lr)
    for _ in range(steps):
        bag = torch.from_numpy(rng.integers(0, len(x), len(x)))
        loss = nn.functional.mse_loss(member(x[bag]), y[bag])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()
