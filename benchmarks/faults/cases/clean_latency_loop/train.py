# drawn from: the class "a benchmark of the model inside the training script": it ends by the clock and reaches nothing
"""Keyword spotting on synthetic spectrograms; measures the latency before and after."""
import argparse
from pathlib import Path

import torch
from latency import measure
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Keywords(nn.Module):
    def __init__(self, bands=20, classes=4, width=24):
        super().__init__()
        self.conv1 = nn.Conv1d(bands, width, 5, padding=2)
        self.conv2 = nn.Conv1d(width, width, 5, padding=4, dilation=2)
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = x + torch.relu(self.conv2(x))
        return self.head(self.drop(self.norm(x.mean(-1))))


def spectrograms(count, bands, frames, classes, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(count, bands, frames, generator=g)
    y = torch.randint(classes, (count,), generator=g)
    for i in range(count):
        band = int(y[i]) * bands // classes
        x[i, band : band + 3, frames // 4 : frames // 2] += 1.5
    return TensorDataset(x, y)


def run_epoch(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--bench-seconds", type=float, default=0.2)
    parser.add_argument("--out", type=Path, default=Path("keywords.pt"))
    args = parser.parse_args()

    torch.manual_seed(5)
    train = spectrograms(480, 20, 40, 4, seed=0)
    test = spectrograms(120, 20, 40, 4, seed=1)
    model = Keywords()
    example = test[0][0][None]
    print(f"latency {1e3 * measure(model, example, args.bench_seconds):.3f} ms")
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    loader = DataLoader(train, batch_size=48, shuffle=True)
    for epoch in range(args.epochs):
        loss = run_epoch(model, loader, optimizer)
        model.eval()
        with torch.no_grad():
            acc = (model(test.tensors[0]).argmax(1) == test.tensors[1]).float().mean().item()
        model.train()
        print(f"epoch {epoch} loss {loss:.4f} acc {acc:.3f}")
    print(f"latency {1e3 * measure(model, example, args.bench_seconds):.3f} ms")
    torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
