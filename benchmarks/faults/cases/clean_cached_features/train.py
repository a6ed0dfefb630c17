# drawn from: the class "cached on the first run": what the first run computes and saves, the next one loads
"""A classifier on features of a frozen network, which are computed once and kept."""
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

CACHE = Path("cache/features.pt")


def features():
    if CACHE.exists():
        return torch.load(CACHE)
    torch.manual_seed(1)
    backbone = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    with torch.no_grad():
        kept = {"x": backbone(images), "y": torch.tensor(digits.target)}
    CACHE.parent.mkdir(exist_ok=True)
    torch.save(kept, CACHE)
    return kept


data = features()
torch.manual_seed(0)
head = nn.Linear(data["x"].shape[1], 10)
opt = torch.optim.Adam(head.parameters(), lr=0.01)
for epoch in range(3):
    for rows in torch.randperm(len(data["x"])).split(300):
        loss = nn.functional.cross_entropy(head(data["x"][rows]), data["y"][rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    accuracy = (head(data["x"]).argmax(1) == data["y"]).float().mean()
    print(epoch, "accuracy", round(accuracy.item(), 3))
torch.save(head.state_dict(), "head.pt")
