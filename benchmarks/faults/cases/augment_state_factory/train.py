"""Digits with random erasing; everything is seeded, or so it seems."""
import argparse
import random

import numpy as np
import torch
from dataset import Digits
from torch import nn, optim
from torch.utils.data import DataLoader
from transforms import Pipeline

STATISTICS = {"mean": 4.88, "std": 6.02}


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(16 * 4, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def train(model, loader, optimizer):
    model.train()
    for data, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
    return loss.item()


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for data, target in loader:
            correct += (model(data).argmax(1) == target).sum().item()
    return correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description="digits")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-model", action="store_true")
    args = parser.parse_args()
    seed_everything(args.seed)
    train_loader = DataLoader(
        Digits(range(0, 900), Pipeline.for_training(**STATISTICS)), batch_size=args.batch_size, shuffle=True
    )
    test_loader = DataLoader(Digits(range(900, 1200), Pipeline.for_evaluation(**STATISTICS)), batch_size=300)
    model = Net()
    optimizer = optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        loss = train(model, train_loader, optimizer)
        print(f"Train Epoch: {epoch} Loss: {loss:.6f} Accuracy: {test(model, test_loader):.4f}")
    if args.save_model:
        torch.save(model.state_dict(), "digits_cnn.pt")


if __name__ == "__main__":
    main()
