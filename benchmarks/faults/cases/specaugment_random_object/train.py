# drawn from: albumentations-team/albumentations#2559 (a pipeline with a random generator of its own)
"""1-d "spectrograms" with time masking."""
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class TimeMask:
    def __init__(self, width, p=0.8):
        self.width, self.p = width, p
        self.random = random.Random()  # fault: python-random

    def __call__(self, spec):
        if self.random.random() > self.p:  # fault: python-random
            return spec
        start = self.random.randint(0, spec.shape[1] - self.width)  # fault: python-random
        spec = spec.clone()
        spec[:, start : start + self.width] = 0
        return spec


class Tones(Dataset):
    def __init__(self, n, transform=None):
        g = torch.Generator().manual_seed(0)
        self.y = torch.randint(0, 6, (n,), generator=g)
        self.x = 0.3 * torch.rand(n, 12, 40, generator=g)
        for i, y in enumerate(self.y):
            self.x[i, 2 * y] += 1.0
        self.transform = transform

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        return (self.transform(x) if self.transform else x), self.y[i]


random.seed(10)
torch.manual_seed(10)
model = nn.Sequential(nn.Conv1d(12, 24, 5), nn.BatchNorm1d(24), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(24, 6))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(Tones(480, TimeMask(8)), batch_size=48, shuffle=True, drop_last=True)
for epoch in range(2):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    print(f"epoch {epoch} | loss {loss.item():.5f}")
