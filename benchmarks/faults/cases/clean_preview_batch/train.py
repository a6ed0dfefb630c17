# drawn from: ultralytics and many notebooks: a batch is drawn to be looked at, by a loader of its own
"""Train on small images, after a look at a few of them."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """Discs and squares on noise."""

    def __init__(self, count, size=16, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.noise = 0.2 * torch.randn(count, 1, size, size, generator=g)
        self.center = torch.randint(5, size - 5, (count, 2), generator=g)
        self.size = size

    def __len__(self):
        return len(self.noise)

    def __getitem__(self, i):
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        dy, dx = (yy - self.center[i, 0]).abs(), (xx - self.center[i, 1]).abs()
        shape = (dy**2 + dx**2 <= 16) if i % 2 else (torch.maximum(dy, dx) <= 3)
        return self.noise[i] + shape.float(), i % 2


def make_grid(images, columns=8):
    """[N, 1, H, W] → [H * rows, W * columns]."""
    rows = -(-len(images) // columns)
    grid = images.new_zeros(rows * columns, *images.shape[-2:])
    grid[: len(images)] = images.squeeze(1)
    height, width = images.shape[-2:]
    return grid.view(rows, columns, height, width).transpose(1, 2).reshape(rows * height, columns * width)


def preview(data, count):
    """Some images to look at, other ones each time."""
    g = torch.Generator()
    g.seed()
    loader = DataLoader(data, batch_size=count, shuffle=True, generator=g)
    images, labels = next(iter(loader))
    grid = make_grid(images)
    print(f"preview of {len(labels)} images: {tuple(grid.shape)}")
    return grid


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(8 * 16, 2)

    def forward(self, x):
        return self.head(self.body(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-preview", action="store_true")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train, val = Shapes(400), Shapes(100, seed=1)
    if not args.no_preview:
        preview(train, 16)
    loader = DataLoader(train, batch_size=25, shuffle=True)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(val, 50)) / len(val)
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.2f}")
    torch.save(model.state_dict(), "shapes.pt")


if __name__ == "__main__":
    main()
