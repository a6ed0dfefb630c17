# drawn from: the class "a generator for each thread": it is seeded by the thread's identity
"""Segment blobs; one thread prepares the next batch while the model trains on this one."""
import argparse
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn


class Blobs:
    """Noisy images of discs and their masks, cropped and flipped at random."""

    def __init__(self, n=240, size=24, crop=16):
        rng = np.random.default_rng(2)
        yy, xx = np.mgrid[:size, :size]
        cy, cx = rng.uniform(6, 18, (2, n, 1, 1))
        radius = rng.uniform(3, 6, (n, 1, 1))
        self.masks = ((yy - cy) ** 2 + (xx - cx) ** 2 < radius**2).astype(np.float32)
        self.images = self.masks + 0.7 * rng.normal(size=self.masks.shape).astype(np.float32)
        self.crop = crop
        self.local = threading.local()

    def rng(self):
        if not hasattr(self.local, "rng"):  # generators of NumPy are not to be shared among threads
            self.local.rng = np.random.default_rng(threading.get_ident())  # fault: system-reads
        return self.local.rng

    def batch(self, rows):
        rng = self.rng()
        images, masks = [], []
        for row in rows:
            top, left = rng.integers(0, self.images.shape[1] - self.crop, 2)
            cut = np.s_[row, top : top + self.crop, left : left + self.crop]
            image, mask = self.images[cut], self.masks[cut]
            if rng.random() < 0.5:
                image, mask = image[:, ::-1], mask[:, ::-1]
            images.append(image.copy())
            masks.append(mask.copy())
        return torch.from_numpy(np.stack(images))[:, None], torch.from_numpy(np.stack(masks))[:, None]


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU())
        self.inner = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Conv2d(2 * c, 1, 1)

    def forward(self, x):
        fine = self.down(x)
        return self.out(torch.cat([fine, self.up(self.inner(fine))], 1))


def dice(logits, masks):
    p = logits.sigmoid()
    return 1 - 2 * (p * masks).sum() / (p.sum() + masks.sum())


def batches(data, order, size, pool):
    """One ahead."""
    ahead = pool.submit(data.batch, order[:size])
    for begin in range(size, len(order) + 1, size):
        ready = ahead.result()
        ahead = pool.submit(data.batch, order[begin : begin + size] if begin < len(order) else order[:1])
        yield ready


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=24)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()
    torch.manual_seed(0)
    data, model = Blobs(), UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    shuffle = torch.Generator().manual_seed(9)
    with ThreadPoolExecutor(max_workers=1) as pool:
        for epoch in range(args.epochs):
            order = torch.randperm(200, generator=shuffle).numpy()
            for images, masks in batches(data, order, args.batch_size, pool):
                logits = model(images)
                loss = dice(logits, masks) + nn.functional.binary_cross_entropy_with_logits(logits, masks)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                whole = torch.from_numpy(data.images[200:])[:, None]
                valid = dice(model(whole), torch.from_numpy(data.masks[200:])[:, None])
            print(f"[{epoch}] loss {loss.item():.4f} dice {1 - valid.item():.4f}")
    torch.save({"model": model.state_dict(), "args": vars(args)}, "unet.pt")


if __name__ == "__main__":
    main()
