# drawn from: the class "a seed from a program of the system" (od, uuidgen, openssl rand), kept in a log so that it can be had again
import subprocess

import torch
from torch import nn


def fresh_seed():
    out = subprocess.check_output(["od", "-An", "-N4", "-tu4", "/dev/urandom"], text=True)  # fault: os-entropy
    return int(out.split()[0])  # fault: os-entropy


seed = fresh_seed()  # fault: os-entropy
print("seed:", seed)
torch.manual_seed(seed)  # fault: os-entropy

G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(64, 1), torch.zeros(64, 1)


def real(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], 1)


for it in range(30):
    fake = G(torch.randn(64, 4))
    d_loss = bce(D(real(64)), one) + bce(D(fake.detach()), zero)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = bce(D(fake), one)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if it % 10 == 9:
        print(f"{it + 1}: D loss {d_loss.item():.4f} G loss {g_loss.item():.4f}")
