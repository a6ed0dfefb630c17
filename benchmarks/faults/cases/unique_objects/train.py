# drawn from: NeuroDiffGym/neurodiffeq#209 and its like: unique samples by id(), in a set of objects
"""Deduplicate sample objects, then train in the order that comes out."""
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(eq=False)
class Sample:
    x: torch.Tensor
    y: int


class Pool:
    """Samples from several sources; the same object may come from two of them."""

    def __init__(self):
        self.sources = []

    def add(self, samples):
        self.sources.append(samples)

    def unique(self):
        return list({s for samples in self.sources for s in samples})  # fault: memory-address


torch.manual_seed(21)
everything = [Sample(torch.randn(14), i % 4) for i in range(400)]
for sample in everything:
    sample.x[sample.y] += 2
pool = Pool()
pool.add(everything[:300])
pool.add(everything[200:])
samples = pool.unique()

model = nn.Sequential(nn.Linear(14, 28), nn.LeakyReLU(), nn.Linear(28, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for i in range(0, len(samples), 40):
        part = samples[i : i + 40]
        x, y = torch.stack([s.x for s in part]), torch.tensor([s.y for s in part])
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", round(loss.item(), 5))
