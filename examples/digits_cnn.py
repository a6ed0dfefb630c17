"""A small CNN on scikit-learn's digits: random crops, noise, dropout, shuffling, 4 workers, no seed anywhere.

Run it three times and it prints three different losses.
"""

import argparse
import random

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """The 8 x 8 digits, augmented: a random crop by Python's `random`, noise by NumPy."""

    def __init__(self, images, labels, augment):
        self.images, self.labels, self.augment = images, labels, augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.augment:
            padded = np.pad(image, 1)
            top, left = random.randint(0, 2), random.randint(0, 2)
            image = padded[top : top + 8, left : left + 8]
            image = image + np.random.normal(0, 0.05, image.shape).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(image))[None], int(self.labels[index])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.head = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(self.dropout(x.flatten(1)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--save", help="where to save the trained weights")
    arguments = parser.parse_args()

    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)
    order = np.random.permutation(len(images))
    train, test = order[:1500], order[1500:]
    loader = DataLoader(
        Digits(images[train], digits.target[train], augment=True),
        batch_size=50,
        shuffle=True,
        num_workers=arguments.workers,
    )
    test_x = torch.from_numpy(images[test])[:, None]
    test_y = torch.from_numpy(digits.target[test])

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(arguments.epochs):
        model.train()
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean()
        print(f"epoch {epoch}: loss {loss.item():.6f}, test accuracy {accuracy.item():.4f}")
    if arguments.save:
        torch.save(model.state_dict(), arguments.save)


if __name__ == "__main__":
    main()
