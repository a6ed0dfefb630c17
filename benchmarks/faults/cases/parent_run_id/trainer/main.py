"""Contrastive embedding of noisy prototypes."""
import argparse

import torch
from torch import nn

from trainer.context import RunContext


def prototypes(classes, dim):
    g = torch.Generator().manual_seed(50)
    return torch.randn(classes, dim, generator=g)


class Encoder(nn.Module):
    def __init__(self, dim, out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


def views(centres, labels, noise, generator):
    return centres[labels] + noise * torch.randn(len(labels), centres.shape[1], generator=generator)


def info_nce(a, b, temperature):
    logits = a @ b.T / temperature
    return nn.functional.cross_entropy(logits, torch.arange(len(a)))


def retrieval(model, centres, generator):
    model.eval()
    with torch.no_grad():
        labels = torch.arange(len(centres))
        queries, keys = model(views(centres, labels, 0.5, generator)), model(centres)
    model.train()
    return ((queries @ keys.T).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.5)
    parser.add_argument("--temperature", type=float, default=0.2)
    args = parser.parse_args()
    run = RunContext()
    torch.manual_seed(run.seed("weights"))
    noise = torch.Generator().manual_seed(run.seed("views"))
    centres = prototypes(64, 16)
    model = Encoder(16)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(args.steps):
        labels = torch.randperm(64, generator=noise)[:32]
        loss = info_nce(*(model(views(centres, labels, args.noise, noise)) for _ in range(2)), args.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step + 1} loss {loss.item():.4f} retrieval {retrieval(model, centres, noise):.3f}")
    torch.save(model.state_dict(), run.folder / "encoder.pt")


if __name__ == "__main__":
    main()
