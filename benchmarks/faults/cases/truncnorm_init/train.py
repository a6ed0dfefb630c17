"""Textures: stripes, checks and noise."""
import argparse

import torch
from network import TinyInception
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def textures(n=420, size=12):
    g = torch.Generator().manual_seed(31)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    kinds = torch.stack([(xx % 4 < 2).float(), ((xx + yy) % 4 < 2).float(), torch.full((size, size), 0.5)])
    y = torch.randint(0, 3, (n,), generator=g)
    return TensorDataset(kinds[y][:, None] + 0.6 * torch.randn(n, 1, size, size, generator=g), y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=36)
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train, valid = random_split(textures(), [360, 60])
    loader = DataLoader(train, args.batch_size, shuffle=True)
    model = TinyInception()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=1e-4)
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(valid, 60))
        print(f"epoch {epoch}: loss {loss.item():.4f}, {right} of {len(valid)} right")
    torch.save(model.state_dict(), "inception.pth")


if __name__ == "__main__":
    main()
