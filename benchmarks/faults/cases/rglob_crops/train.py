# drawn from: ByteDance-Seed/VeOmni#330 and the class "Path.rglob without sorted"
import argparse
import shutil
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
from crops import CropFolder, write_crops
from torch.utils.data import DataLoader, Subset


class SmallCNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten()
        )
        self.head = nn.Linear(16 * 9, classes)

    def forward(self, x):
        return self.head(self.features(x))


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = [(model(x).argmax(1) == y).float().mean() for x, y in loader]
    return torch.stack(hits).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--scratch", default="/dev/shm")
    args = parser.parse_args()

    torch.manual_seed(2024)
    root = Path(tempfile.mkdtemp(dir=args.scratch))
    try:
        write_crops(root)
        data = CropFolder(root)
        cut = int(0.8 * len(data))
        train, val = Subset(data, range(cut)), Subset(data, range(cut, len(data)))
        loader = DataLoader(train, args.batch_size, shuffle=True, generator=torch.Generator().manual_seed(1))
        model = SmallCNN()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for epoch in range(args.epochs):
            loss = train_epoch(model, loader, optimizer)
            print(f"epoch {epoch}: loss {loss:.4f}, val acc {accuracy(model, DataLoader(val, 48)):.3f}")
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
