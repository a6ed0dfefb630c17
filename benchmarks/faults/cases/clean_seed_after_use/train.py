# drawn from: pytorch/pytorch#36998 turned round: chance before the seeds are set leaves no trace
"""A banner at random, then seeds, then everything else."""
import random

import numpy as np
import torch
from torch import nn

print(random.choice(["ready", "steady", "go"]), int(np.random.randint(1000)), float(torch.rand(1)) >= 0)


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 24, num_layers=2, dropout=0.2, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


def waves(batch):
    start = np.random.uniform(0, 6, size=(batch, 1))
    speed = np.array([[random.uniform(0.1, 0.4)] for _ in range(batch)])
    return torch.from_numpy(np.sin(start + speed * np.arange(26))).float().unsqueeze(2)


set_seed(17)
model = RNN()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(12):
    x = waves(32)
    loss = nn.functional.mse_loss(model(x[:, :-1]), x[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"step {step} loss {loss.item():.6f}")
