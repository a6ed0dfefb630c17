import numpy as np
import torch


class ReplayBuffer:
    def __init__(self, capacity):
        self.capacity = capacity
        self.items = []
        self.rs = np.random.RandomState()  # fault: numpy-generator

    def push(self, *item):
        self.items.append(item)
        self.items = self.items[-self.capacity :]

    def sample(self, n):
        picked = [self.items[i] for i in self.rs.randint(len(self.items), size=n)]  # fault: numpy-generator
        s, a, r, s2 = zip(*picked)
        return (
            torch.from_numpy(np.stack(s)),
            torch.tensor(a),
            torch.tensor(r, dtype=torch.float32),
            torch.from_numpy(np.stack(s2)),
        )
