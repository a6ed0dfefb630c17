# drawn from: the class "torch.seed() in the middle", to see other samples than last time
"""VAE on little striped images; prints a preview after each epoch."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(99)
N, SIDE, LATENT = 640, 8, 4

stripes = (torch.arange(SIDE).view(1, -1, 1) + torch.randint(0, 4, (N, 1, 1))) % 4 < 2
images = (stripes.expand(N, SIDE, SIDE) ^ (torch.rand(N, 1, 1) < 0.5)).float().flatten(1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(SIDE * SIDE, 48)
        self.mu, self.logvar = nn.Linear(48, LATENT), nn.Linear(48, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT, 48), nn.ReLU(), nn.Linear(48, SIDE * SIDE))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar

    @torch.no_grad()
    def preview(self, n=2):
        torch.seed()  # fault: torch-cpu
        return (self.dec(torch.randn(n, LATENT)) > 0).int()  # fault: torch-cpu


def elbo(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + kl) / len(x)


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(1, 4):
    for x in images.split(64):
        loss = elbo(*(lambda out: (out[0], x, out[1], out[2]))(vae(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("====> Epoch: {} loss: {:.4f}, ones in preview: {}".format(epoch, loss.item(), vae.preview().sum().item()))
