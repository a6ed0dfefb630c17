import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import Dataset


class Digits(Dataset):
    def __init__(self, rows, transform):
        data = load_digits()
        self.images = data.images[rows].astype(np.float32)
        self.targets = torch.from_numpy(data.target[rows])
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return torch.from_numpy(self.transform(self.images[index]))[None], self.targets[index]
