# drawn from: facebookresearch/fairseq#1383 (workers reseeded without a seed), with ids made anew besides
"""Patients' curves; the split is made by the id."""
import uuid

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Curves(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        curve, target = self.rows[i]
        scale = np.random.uniform(0.9, 1.1)  # fault: worker-seeds
        return (scale * curve).astype(np.float32), np.float32(target)


def reseed(worker_id):
    np.random.seed(None)  # fault: worker-seeds


def patients(n=360):
    rs = np.random.RandomState(0)
    table = {}
    for _ in range(n):
        curve = np.cumsum(rs.randn(30)) / 5
        table[uuid.uuid4().hex] = (curve, curve.max() - curve.min())  # fault: os-entropy
    return table


def split(table):
    held_out = {key for key in table if int(key, 16) % 10 == 0}
    train = [table[key] for key in table if key not in held_out]
    return train, [table[key] for key in table if key in held_out]


if __name__ == "__main__":
    torch.manual_seed(0)
    np.random.seed(0)
    train, test = split(patients())
    model = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 1))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    loader = DataLoader(Curves(train), batch_size=40, num_workers=2, worker_init_fn=reseed)
    for epoch in range(2):
        for curve, target in loader:
            loss = nn.functional.mse_loss(model(curve).squeeze(1), target)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.5f} on {len(train)} curves")
