# drawn from: pytorch/vision#192, fastai/fastai#2006 (a folder of classes, read in the order of the disk)
import multiprocessing
import shutil
import tempfile
from pathlib import Path

import torch
from folder import FolderDataset, render
from torch import nn
from torch.utils.data import DataLoader, random_split


def main():
    root = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        jobs = [(root, label, i) for label in ("circle", "cross", "square") for i in range(30)]
        with multiprocessing.Pool(3) as pool:
            pool.starmap(render, jobs, chunksize=1)
        torch.manual_seed(0)
        dataset = FolderDataset(root)
        train, val = random_split(dataset, [72, 18])
        model = nn.Sequential(nn.Flatten(), nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 3))
        opt = torch.optim.Adam(model.parameters(), 1e-3)
        for epoch in range(3):
            for x, y in DataLoader(train, batch_size=12, shuffle=True):
                loss = nn.functional.cross_entropy(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
            print(f"Epoch {epoch + 1}: loss {loss.item():.4f}")
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
