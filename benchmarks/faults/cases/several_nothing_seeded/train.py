# drawn from: PaddlePaddle/PaddleOCR#8884 ("how to fix any randomness"): nothing is seeded at all
"""CNN with a crop, a flip and noise."""
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Textures(Dataset):
    def __init__(self, n=320):
        rs = np.random.RandomState(0)
        base = rs.rand(n, 14, 14)
        base[1::2] = (base[1::2] + np.roll(base[1::2], 1, 1)) / 2
        self.images, self.labels = base.astype(np.float32), np.arange(n) % 2

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        top, left = random.randint(0, 2), random.randint(0, 2)  # fault: python-random
        image = image[top : top + 12, left : left + 12]
        image = image + 0.05 * np.random.randn(12, 12)  # fault: numpy-global
        return image[None].astype(np.float32), self.labels[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)  # fault: torch-cpu
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.fc = nn.Linear(256, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return self.fc(F.dropout(x.flatten(1), 0.2, self.training))


def main():
    model = Net()  # fault: torch-cpu
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.5)
    for epoch in range(2):
        for i, (x, y) in enumerate(DataLoader(Textures(), batch_size=32, shuffle=True)):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"Train Epoch: {epoch} Loss: {loss.item():.6f}")


if __name__ == "__main__":
    main()
