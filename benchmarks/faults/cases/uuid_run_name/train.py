# drawn from: the class "a run name whose hash seeds": the name comes from python -c in a shell script
"""Neural process regression of random curves, one run of a sweep."""
import argparse
import zlib

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--run-name", required=True)
parser.add_argument("--width", type=int, default=24)
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--lr", type=float, default=3e-3)


class Curves:
    """Sums of three waves, with points to see and points to guess."""

    def __init__(self, generator):
        self.generator = generator

    def draw(self, n, seen=8, points=24):
        a, f, p = (torch.randn(n, 3, 1, generator=self.generator) for _ in range(3))
        x = torch.rand(n, 1, points, generator=self.generator) * 4 - 2
        y = (a * torch.sin((1 + f.abs()) * x + p)).sum(1)
        pairs = torch.stack([x.squeeze(1), y], 2)
        return pairs[:, :seen], pairs[:, seen:]


class NeuralProcess(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width))
        self.decode = nn.Sequential(nn.Linear(width + 1, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, context, x):
        r = self.encode(context).mean(1, keepdim=True).expand(-1, x.shape[1], -1)
        mean, spread = self.decode(torch.cat([r, x], 2)).unbind(2)
        return torch.distributions.Normal(mean, 0.1 + nn.functional.softplus(spread))


def objective(model, context, targets):
    return -model(context, targets[:, :, :1]).log_prob(targets[:, :, 1]).mean()


def main():
    args = parser.parse_args()  # fault: arguments
    seed = zlib.crc32(args.run_name.encode())  # fault: arguments
    torch.manual_seed(seed)  # fault: arguments
    curves = Curves(torch.Generator().manual_seed(99))
    test = curves.draw(64)
    model = NeuralProcess(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        loss = objective(model, *curves.draw(32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            with torch.no_grad():
                print(f"{step:3d} loss {loss.item():.4f} test loss {objective(model, *test).item():.4f}")
    torch.save(model.state_dict(), f"{args.run_name}.pt")


if __name__ == "__main__":
    main()
