# drawn from: the class "running statistics of a random part": a buffer that nothing reads while training
"""Mixture of experts with a buffer that keeps track of how the experts are used."""
import numpy as np
import torch
from torch import nn


class MoE(nn.Module):
    def __init__(self, dim=16, experts=4):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))
        self.register_buffer("usage", torch.zeros(experts))

    def track(self, weights, share=0.25):
        keep = np.random.permutation(len(weights))[: int(share * len(weights))]  # fault: numpy-global
        self.usage.mul_(0.9).add_(0.1 * weights.detach()[keep].mean(0))  # fault: numpy-global

    def forward(self, x):
        weights = self.gate(x).softmax(1)
        if self.training:
            self.track(weights)
        return sum(weights[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


torch.manual_seed(0)
layer = MoE()
opt = torch.optim.Adam(layer.parameters(), lr=3e-3)
x = torch.randn(640, 16)
target = torch.where(x[:, :1] > 0, x.flip(1), -x)
for step, rows in enumerate(torch.arange(640).split(32)):
    loss = nn.functional.mse_loss(layer(x[rows]), target[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.6f}")
