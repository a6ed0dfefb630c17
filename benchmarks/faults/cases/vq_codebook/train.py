# drawn from: pytorch/pytorch#51366 in a VQ-VAE: the codes' sums are index_put_ with accumulate
"""Vector-quantised autoencoder; the codebook follows the encoder by moving averages."""
import torch
import torch.nn.functional as F
from torch import nn


class Codebook(nn.Module):
    def __init__(self, codes, dim, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(codes, dim))
        self.register_buffer("size", torch.ones(codes))
        self.register_buffer("total", self.codes.clone())

    def forward(self, z):
        nearest = torch.cdist(z, self.codes).argmin(1)
        if self.training:
            self.follow(z.detach(), nearest)
        q = self.codes[nearest]
        return z + (q - z).detach(), F.mse_loss(z, q.detach())

    @torch.no_grad()
    def follow(self, z, nearest):
        total, size = torch.zeros_like(self.codes), torch.zeros_like(self.size)
        total.index_put_((nearest,), z, accumulate=True)  # fault: nondeterministic-kernels
        size += torch.bincount(nearest, minlength=len(size))
        self.total.lerp_(total, 1 - self.decay)
        self.size.lerp_(size, 1 - self.decay)
        self.codes.copy_(self.total / self.size.clamp(min=1e-3).unsqueeze(1))


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.book, self.decoder = nn.Linear(12, 16), Codebook(32, 16), nn.Linear(16, 12)

    def forward(self, x):
        q, commit = self.book(self.encoder(x))
        return F.mse_loss(self.decoder(q), x) + 0.25 * commit


torch.manual_seed(0)
x = torch.randn(16384, 12) @ torch.randn(12, 12)
model = VQ()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(10):
    loss = model(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.6f}")
