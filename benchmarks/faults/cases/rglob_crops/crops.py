"""Cuts crops and stores them by class; lists them again as a data set."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import Dataset


def write_crops(root, count=240, threads=8):
    """One file a digit, in root/<class>/<number>.npy."""
    digits = load_digits()
    for label in range(10):
        (root / str(label)).mkdir(parents=True, exist_ok=True)

    def write(number):
        image = digits.images[number].astype(np.float32) / 16
        np.save(root / str(digits.target[number]) / f"{number:05d}.npy", np.pad(image, 1))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, range(count)))


class CropFolder(Dataset):
    """Every .npy below a folder; the folder's name is the class."""

    def __init__(self, root):
        self.files = [path for path in Path(root).rglob("*.npy")]  # fault: listing-order
        if not self.files:
            raise FileNotFoundError(f"no crops below {root}")

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        return torch.from_numpy(np.load(path))[None], int(path.parent.name)
