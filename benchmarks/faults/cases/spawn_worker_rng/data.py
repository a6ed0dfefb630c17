import numpy as np
import torch
from torch.utils.data import Dataset


class SineDataset(Dataset):
    def __init__(self, n):
        self.n = n
        self.rng = None

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.rng is None:  # a generator of its own for each worker
            self.rng = np.random.default_rng()  # fault: numpy-generator
        phase = self.rng.uniform(0, 2 * np.pi)  # fault: numpy-generator
        freq = 1 + i % 4
        wave = np.sin(np.linspace(0, freq, 32) + phase)
        return torch.tensor(wave, dtype=torch.float32), torch.tensor(float(freq))
