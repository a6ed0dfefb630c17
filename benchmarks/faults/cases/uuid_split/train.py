# drawn from: the class "split by id": the ids are uuid4, made anew in each run
"""Each record gets an id; the ids decide who is in the training set."""
import uuid

import torch
import torch.nn as nn

torch.manual_seed(1)


def make_records(n=500):
    g = torch.Generator().manual_seed(123)
    for _ in range(n):
        x = torch.randn(6, generator=g)
        yield {"id": str(uuid.uuid4()), "x": x, "y": (x[0] * x[1] + x[2]).unsqueeze(0)}  # fault: os-entropy


def split(records, share=0.8):
    ranked = sorted(records, key=lambda r: r["id"])
    cut = int(share * len(ranked))
    return ranked[:cut], ranked[cut:]


def collate(records):
    return torch.stack([r["x"] for r in records]), torch.stack([r["y"] for r in records])


train, valid = split(list(make_records()))
net = nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 1))
opt = torch.optim.NAdam(net.parameters(), lr=1e-2)
for epoch in range(5):
    for i in range(0, len(train), 100):
        x, y = collate(train[i : i + 100])
        loss = (net(x) - y).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x, y = collate(valid)
        print("epoch", epoch, "train loss", loss.item(), "valid loss", (net(x) - y).square().mean().item())
