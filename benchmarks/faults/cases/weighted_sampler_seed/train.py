"""Heartbeats: one class in ten is rare, so classes are sampled evenly."""
import argparse

import torch
from augment import Compose, Jitter, Scale
from samplers import BalancedSampler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def heartbeats(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=g) < 0.1).long()
    t = torch.linspace(-1, 1, 48)
    width = torch.where(y == 1, 0.25, 0.12)[:, None] * (1 + 0.2 * torch.randn(n, 1, generator=g))
    x = torch.exp(-((t - 0.1 * torch.randn(n, 1, generator=g)) / width) ** 2) + 0.15 * torch.randn(n, 48, generator=g)
    return TensorDataset(x[:, None], y)


def make_model(c):
    return nn.Sequential(
        nn.Conv1d(1, c, 7, padding=3), nn.GroupNorm(2, c), nn.SiLU(), nn.AvgPool1d(2),
        nn.Conv1d(c, c, 5, padding=2), nn.SiLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(4 * c, 2),
    )


@torch.no_grad()
def recall(model, data):
    model.eval()
    x, y = data.tensors
    guess = model(x).argmax(1)
    model.train()
    return [(guess[y == k] == k).float().mean().item() for k in (0, 1)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--ckpt", default="beats.pt")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train, valid = heartbeats(600, 1), heartbeats(300, 2)
    sampler = BalancedSampler(train.tensors[1], num_samples=500)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler)
    augment = Compose(Scale(0.8, 1.2), Jitter(0.05))
    model = make_model(8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=args.epochs * len(loader))
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(augment(x)), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch} loss {loss.item():.4f} recall {recall(model, valid)}")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, args.ckpt)


if __name__ == "__main__":
    main()
