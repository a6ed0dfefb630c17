# drawn from: the class "evaluation by random views"; training is seeded, `random` is not
"""Train, then score with test-time augmentation."""
import random

import numpy as np
import torch
from torch import nn

np.random.seed(0)
torch.manual_seed(0)

images = np.random.rand(400, 1, 12, 12).astype(np.float32)
targets = (images[:, 0, :6].mean((1, 2)) > images[:, 0, 6:].mean((1, 2))).astype(np.int64)
x, y = torch.from_numpy(images), torch.from_numpy(targets)

model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(800, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.05)


def train_epoch():
    model.train()
    for i in range(0, 320, 64):
        loss = nn.functional.cross_entropy(model(x[i : i + 64]), y[i : i + 64])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def evaluate():
    model.eval()
    views = []
    for _ in range(4):
        shift = random.randint(-2, 2)  # fault: python-random
        views.append(model(torch.roll(x[320:], shift, dims=3)).softmax(1))
    return (torch.stack(views).mean(0).argmax(1) == y[320:]).float().mean().item()


for epoch in range(4):
    loss = train_epoch()
    print(f"epoch {epoch}: loss {loss:.4f}, accuracy {evaluate():.3f}")
