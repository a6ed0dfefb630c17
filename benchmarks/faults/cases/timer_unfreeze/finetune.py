# drawn from: the class "a threading.Timer sets a flag": the head is trained alone for some time, then everything
"""Usage: finetune.py [--config config.toml]"""
import argparse
import threading

import tomllib
import torch
from torch import nn


class Warmup:
    """True for the first seconds."""

    def __init__(self, seconds):
        self.over = threading.Event()
        self.timer = threading.Timer(seconds, self.over.set)  # fault: clock
        self.timer.daemon = True

    def start(self):
        self.timer.start()  # fault: clock

    def __bool__(self):
        return not self.over.is_set()  # fault: clock


def backbone():
    layers = [nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv1d(8, 8, 5, padding=2), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(4), nn.Flatten())


def waves(n, length=64):
    kind = torch.randint(3, (n,))
    t = torch.linspace(0, 6.28, length)
    f = (kind + 2)[:, None]
    return (torch.sin(f * t + torch.rand(n, 1) * 6.28) + 0.4 * torch.randn(n, length))[:, None], kind


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="config.toml")
    with open(parser.parse_args().config, "rb") as f:
        config = tomllib.load(f)
    torch.manual_seed(config["seed"])
    body, head = backbone(), nn.Linear(32, 3)
    groups = {"body": body, "head": head}
    optimizer = torch.optim.SGD([{"params": m.parameters(), "lr": config["lr"][name]} for name, m in groups.items()])
    warmup = Warmup(config["warmup_seconds"])
    warmup.start()
    for step in range(config["steps"]):
        x, y = waves(config["batch"])
        if warmup:
            with torch.no_grad():
                features = body(x)
        else:
            features = body(x)
        loss = nn.functional.cross_entropy(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1}{' (head)' if warmup else ''} loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
