# drawn from: the class "schedules in seconds": the learning rate decays with the time that has passed
"""Character model with a time-based cosine schedule (fits whatever slot we get)."""
import math
from time import monotonic

import torch
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the angry bees " * 12
CHARS = sorted(set(TEXT))
torch.manual_seed(1337)
data = torch.tensor([CHARS.index(c) for c in TEXT])


class TimedCosine:
    def __init__(self, optimizer, seconds, top):
        self.optimizer, self.seconds, self.top = optimizer, seconds, top
        self.began = monotonic()

    def step(self):
        part = min(1.0, (monotonic() - self.began) / self.seconds)  # fault: clock
        for group in self.optimizer.param_groups:
            group["lr"] = self.top * 0.5 * (1 + math.cos(math.pi * part))  # fault: clock


class Bigram(nn.Module):
    def __init__(self, n, dim=32):
        super().__init__()
        self.embed = nn.Embedding(n, dim)
        self.conv = nn.Conv1d(dim, dim, 4, padding=3)
        self.out = nn.Linear(dim, n)

    def forward(self, ids):
        h = self.conv(self.embed(ids).transpose(1, 2))[:, :, : ids.shape[1]]
        return self.out(torch.relu(h).transpose(1, 2))


model = Bigram(len(CHARS))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = TimedCosine(optimizer, seconds=3.0, top=0.01)
for step in range(20):
    at = torch.randint(len(data) - 33, (16,))
    ids = torch.stack([data[i : i + 33] for i in at])
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    schedule.step()
    optimizer.step()
    if step % 5 == 4:
        print(f"step {step + 1} loss {loss.item():.5f}")
