# drawn from: albumentations-team/albumentations#93 (seeds are fixed, but not that of `random`)
"""Small CNN on the digits, with random flips."""

import random

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset

np.random.seed(42)
torch.manual_seed(42)


class Digits(Dataset):
    def __init__(self, train=True):
        x, y = load_digits(return_X_y=True)
        x = x.reshape(-1, 1, 8, 8).astype(np.float32) / 16.0
        cut = 1500
        self.x, self.y = (x[:cut], y[:cut]) if train else (x[cut:], y[cut:])
        self.train = train

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        img = self.x[i]
        if self.train and random.random() < 0.3:  # fault: python-random
            img = img[:, :, ::-1].copy()
        return torch.from_numpy(img), int(self.y[i])


net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10),
)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(Digits(), batch_size=128, shuffle=True)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
