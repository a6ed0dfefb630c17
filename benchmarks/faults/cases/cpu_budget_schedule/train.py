# drawn from: the class "a schedule by the budget": the learning rate follows the CPU seconds that a cluster bills
"""Mixture density network on a toy inverse problem, with a learning rate that ends with the budget."""
import argparse
import resource
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Budget:
    """CPU seconds granted to the job; the rate is halved each time a quarter of them is gone."""

    seconds: float
    began: float = 0.0

    @staticmethod
    def used():
        usage = resource.getrusage(resource.RUSAGE_SELF)  # fault: system-reads
        return usage.ru_utime + usage.ru_stime  # fault: system-reads

    def start(self):
        self.began = self.used()

    def factor(self):
        return 0.5 ** (4 * (self.used() - self.began) / self.seconds)


class MDN(nn.Module):
    def __init__(self, hidden=32, k=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.pi, self.mu, self.sigma = (nn.Linear(hidden, k) for _ in range(3))

    def forward(self, x):
        h = self.body(x)
        mixture = torch.distributions.Categorical(logits=self.pi(h))
        parts = torch.distributions.Normal(self.mu(h), nn.functional.softplus(self.sigma(h)) + 1e-2)
        return torch.distributions.MixtureSameFamily(mixture, parts)


def make_data(n, generator):
    y = torch.rand(n, generator=generator) * 2 - 1
    x = y + 0.3 * torch.sin(6.28 * y) + 0.05 * torch.randn(n, generator=generator)
    return x[:, None], y


def train_epoch(model, optimizer, x, y, size, generator):
    losses = []
    for rows in torch.randperm(len(x), generator=generator).split(size):
        loss = -model(x[rows]).log_prob(y[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu-seconds", type=float, default=20.0)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    x, y = make_data(900, generator)
    x_test, y_test = make_data(200, generator)
    model = MDN()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    budget = Budget(args.cpu_seconds)
    budget.start()
    for epoch in range(args.epochs):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * budget.factor()
        mean = train_epoch(model, optimizer, x, y, 100, generator)
        with torch.no_grad():
            test = -model(x_test).log_prob(y_test).mean().item()
        print(f"epoch {epoch}: train loss {mean:.4f}, test loss {test:.4f}")
    torch.save(model.state_dict(), "mdn.pt")


if __name__ == "__main__":
    main()
