# drawn from: ultralytics (get_flops runs the model on torch.empty), thop, fvcore
"""A residual network on digits; prints its size first."""
import argparse

import torch
from profiling import count_flops, count_parameters
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.two = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.two(torch.relu(self.norm(self.one(x))))


class ResNet(nn.Module):
    def __init__(self, width=12, depth=2):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.Sequential(*(Residual(width) for _ in range(depth)))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def get_loaders(batch_size):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(digits.target)
    train, test = TensorDataset(x[:800], y[:800]), TensorDataset(x[800:1000], y[800:1000])
    return DataLoader(train, batch_size, shuffle=True), DataLoader(test, 100)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    torch.manual_seed(77)
    train, test = get_loaders(args.batch_size)
    model = ResNet()
    print(f"{count_parameters(model)} parameters, {count_flops(model, (1, 8, 8)) / 1e6:.2f} M multiply-adds")
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=args.epochs * len(train))
    for epoch in range(args.epochs):
        model.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test) / 200
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
