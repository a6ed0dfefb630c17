# drawn from: soumith/ganhacks (flip the labels now and then): the flips come from `random`, which is not seeded
"""GAN on a 1-d mixture; labels are flipped once the discriminator is warm."""
import random

import torch
import torch.nn as nn

torch.manual_seed(4)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
D = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real(n):
    return torch.randn(n, 1) * 0.3 + torch.randint(0, 2, (n, 1)) * 4 - 2


def labels(n, iteration):
    ones, zeros = torch.ones(n, 1), torch.zeros(n, 1)
    if iteration >= 6 and random.random() < 0.5:  # fault: python-random
        return zeros, ones
    return ones, zeros


for it in range(20):
    ones, zeros = labels(64, it)
    fake = G(torch.randn(64, 4))
    lossD = bce(D(real(64)), ones) + bce(D(fake.detach()), zeros)
    optD.zero_grad()
    lossD.backward()
    optD.step()

    lossG = bce(D(fake), torch.ones(64, 1))
    optG.zero_grad()
    lossG.backward()
    optG.step()
    if it % 4 == 3:
        print(f"[{it + 1}/20] Loss_D: {lossD.item():.4f} Loss_G: {lossG.item():.4f}")
