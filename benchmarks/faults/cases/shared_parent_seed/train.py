"""Cross-validated gait classifier, one fold a process."""
import argparse
import json
import os

import torch
from samplers import JobShuffle
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def gait(n=480, steps=24):
    g = torch.Generator().manual_seed(77)
    speed = torch.rand(n, 1, generator=g) * 2 + 1
    t = torch.linspace(0, 6.28, steps)
    x = torch.stack([torch.sin(speed * t), torch.cos(2 * speed * t)], 2)
    return x + 0.3 * torch.randn(x.shape, generator=g), (speed.squeeze(1) > 2).long()


class Gru(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        return self.out(self.norm(self.gru(x)[0][:, -1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--seed", type=int, default=123)
    parser.add_argument("--order-seed", type=int)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    data = TensorDataset(*gait())
    inside = [i for i in range(len(data)) if i % args.folds != args.fold]
    outside = [i for i in range(len(data)) if i % args.folds == args.fold]
    sampler = JobShuffle(inside, args.order_seed)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler)
    model = Gru()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    history = []
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            x, y = data[outside]
            history.append((model(x).argmax(1) == y).float().mean().item())
        print(f"fold {args.fold} epoch {epoch} loss {loss.item():.4f} accuracy {history[-1]:.3f}")
    os.makedirs("folds", exist_ok=True)
    torch.save(model.state_dict(), f"folds/{args.fold}.pt")
    with open(f"folds/{args.fold}.json", "w") as file:
        json.dump(history, file)


if __name__ == "__main__":
    main()
