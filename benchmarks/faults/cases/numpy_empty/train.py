# drawn from: the common mistake of numpy.empty taken for zeros (its docs warn of it): short rows leave cells unwritten
"""Click model: a few hashed categories for each row, fed to an embedding."""
import numpy as np
import torch
from torch import nn

BUCKETS = 997
rng = np.random.default_rng(11)
torch.manual_seed(11)
rows = [rng.integers(0, 10_000, size=rng.integers(2, 5)) for _ in range(480)]
clicked = torch.tensor([float(row.sum() % 3 == 0) for row in rows])


def hashed(batch):
    ids = np.empty((len(batch), 4), dtype=np.int64)  # fault: uninitialized-memory
    for i, row in enumerate(batch):
        ids[i, : len(row)] = row
    return torch.from_numpy(ids % BUCKETS)


class Clicks(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(BUCKETS, 16, mode="mean")
        self.head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ids):
        return self.head(self.table(ids)).squeeze(1)


model = Clicks()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    total = 0.0
    for start in range(0, len(rows), 24):
        loss = nn.functional.binary_cross_entropy_with_logits(
            model(hashed(rows[start : start + 24])), clicked[start : start + 24]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / 20:.6f}")
