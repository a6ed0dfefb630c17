# drawn from: loggers that count version_0, version_1, … (Lightning's), and trials that take the number for their seed
"""Each start is the next trial: its number is that of its log folder."""
import csv
import os

import torch
from torch import nn


class CSVLogger:
    def __init__(self, root):
        os.makedirs(root, exist_ok=True)
        taken = [int(name.split("_")[1]) for name in os.listdir(root) if name.startswith("version_")]  # fault: resume-state
        self.version = max(taken, default=-1) + 1
        self.folder = os.path.join(root, f"version_{self.version}")
        os.makedirs(self.folder)  # fault: resume-state
        self.rows = []

    def log(self, **values):
        self.rows.append(values)

    def save(self):
        with open(os.path.join(self.folder, "metrics.csv"), "w", newline="") as out:
            writer = csv.DictWriter(out, self.rows[0].keys())
            writer.writeheader()
            writer.writerows(self.rows)


def stripes(n):
    x = torch.randn(n, 1, 8, 8) * 0.7
    y = torch.randint(0, 2, (n,))
    x[y == 0, :, ::2] += 1
    x[y == 1, :, :, ::2] += 1
    return x, y


def main():
    logger = CSVLogger("logs")
    torch.manual_seed(100 + logger.version)  # fault: resume-state
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(216, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(24):
        x, y = stripes(32)
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger.log(step=step, loss=loss.item())
        if step % 6 == 5:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    logger.save()


if __name__ == "__main__":
    main()
