import zlib

import numpy as np
import torch
from torch.utils.data import Dataset


class Events(Dataset):
    """Implicit feedback: (user, item, clicked)."""

    def __init__(self, users, items, events, seed):
        rng = np.random.default_rng(seed)
        self.user = rng.integers(0, users, events)
        self.item = rng.integers(0, items, events)
        taste, kind = rng.normal(size=(users, 3)), rng.normal(size=(items, 3))
        affinity = (taste[self.user] * kind[self.item]).sum(1)
        self.label = (affinity + 0.3 * rng.normal(size=events) > 0).astype(np.float32)

    def __len__(self):
        return len(self.user)

    def __getitem__(self, i):
        return f"user={self.user[i]}", f"item={self.item[i]}", self.label[i]


def make_collate(buckets):
    """Feature names are hashed into the rows of one table."""

    def row(feature):
        return zlib.crc32(feature.encode()) % buckets

    def collate(batch):
        users, items, labels = zip(*batch)
        ids = torch.tensor([[row(u), row(i)] for u, i in zip(users, items)])
        return ids, torch.tensor(labels)

    return collate
