# drawn from: pytorch#186572 and the class "recomputation with other random numbers than the forward pass"
"""Digits as sequences of rows, with activation checkpointing to save memory."""
import argparse

import torch
from model import Encoder
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset, random_split


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--no-recompute", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.images[:800], dtype=torch.float32) / 16, torch.tensor(digits.target[:800]))
    train, test = random_split(data, [640, 160], generator=torch.Generator().manual_seed(0))
    loader = DataLoader(train, args.batch_size, shuffle=True, drop_last=True)

    model = Encoder(recompute=not args.no_recompute)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, 80)) / len(test)
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "epoch": epoch}, "best.pt")


if __name__ == "__main__":
    main()
