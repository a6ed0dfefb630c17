import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, inputs=36, hidden=48, latent=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))  # fault: torch-cpu
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, inputs))  # fault: torch-cpu

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def elbo(x, logits, mu, logvar):
    rec = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()
    return (rec + kl) / len(x)
