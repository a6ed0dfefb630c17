# drawn from: the class "split by a hash of the file name" (tensorflow/docs speech_commands which_set), with the whole path hashed
"""Keyword spotting on synthetic clips: unpack, split by hash, train a small 1-d convolution."""
import argparse
import hashlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS = ["yes", "no", "up", "down"]


def which_set(path, valid_percent):
    """Stable: a clip stays in its set as the collection grows."""
    digest = hashlib.sha1(str(path).encode()).hexdigest()
    return "valid" if int(digest, 16) % 100 < valid_percent else "train"


class Clips(Dataset):
    def __init__(self, root, subset, valid_percent=20):
        every = sorted(Path(root).rglob("*.npy"))
        self.files = [path for path in every if which_set(path, valid_percent) == subset]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        return torch.from_numpy(np.load(path)), WORDS.index(path.parent.name)


class Unpacked:
    """The archive in a scratch folder, gone at the end."""

    def __init__(self, clips_per_word):
        self.n = clips_per_word

    def __enter__(self):
        self.root = Path(tempfile.mkdtemp(prefix="speech-"))  # fault: system-reads
        rng = np.random.default_rng(5)
        t = np.arange(256) / 256
        for k, word in enumerate(WORDS):
            (self.root / word).mkdir()
            for i in range(self.n):
                pitch = 4 + 3 * k + rng.normal()
                clip = np.sin(2 * np.pi * pitch * t + rng.uniform(0, 6)) + 0.5 * rng.normal(size=256)
                np.save(self.root / word / f"{i:04d}.npy", clip.astype(np.float32)[None])
        return self.root

    def __exit__(self, *exc):
        shutil.rmtree(self.root)


class Spotter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, width, 16, stride=4), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 8, stride=2), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(),
        )
        self.head = nn.Linear(width, len(WORDS))

    def forward(self, x):
        return self.head(self.body(x))


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        hits = [(model(x).argmax(1) == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    with Unpacked(args.clips) as root:
        train = DataLoader(Clips(root, "train"), batch_size=24, shuffle=True, drop_last=True)
        valid = DataLoader(Clips(root, "valid"), batch_size=64)
        model = Spotter()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for epoch in range(args.epochs):
            model.train()
            for x, y in train:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch} loss={loss.item():.4f} valid accuracy={accuracy(model, valid):.3f}")
    torch.save(model.state_dict(), "spotter.pt")


if __name__ == "__main__":
    main()
