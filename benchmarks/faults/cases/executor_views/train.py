# drawn from: the class "default_rng() in the worker": each call of a process pool makes a generator without a seed
"""PointNet on primitive shapes; views are made once, by a pool of processes."""
import argparse
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from views import make_views


def shapes(n, points, rng):
    """Spheres, boxes and cylinders."""
    clouds, labels = [], []
    for i in range(n):
        p = rng.normal(size=(points, 3))
        kind = i % 3
        if kind == 0:
            p /= np.linalg.norm(p, axis=1, keepdims=True)
        elif kind == 1:
            p = np.clip(2 * p, -0.8, 0.8)
        else:
            p[:, :2] /= np.linalg.norm(p[:, :2], axis=1, keepdims=True)
            p[:, 2] = np.clip(p[:, 2], -1, 1)
        clouds.append(p)
        labels.append(kind)
    return clouds, np.array(labels)


class PointNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, x):
        return self.head(self.point(x).amax(1))


def prepare(clouds, labels, args):
    jobs = [(cloud, args.views, args.keep) for cloud in clouds]
    with ProcessPoolExecutor(args.jobs, mp_context=mp.get_context("fork")) as pool:
        views = list(pool.map(make_views, jobs, chunksize=8))
    return TensorDataset(torch.from_numpy(np.concatenate(views)), torch.from_numpy(labels.repeat(args.views)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clouds", type=int, default=60)
    parser.add_argument("--views", type=int, default=6)
    parser.add_argument("--keep", type=int, default=48)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    clouds, labels = shapes(args.clouds, 128, np.random.default_rng(args.seed))
    data = prepare(clouds, labels, args)
    loader = DataLoader(data, batch_size=40, shuffle=True)
    model = PointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        right = 0
        for x, y in loader:
            logits = model(x)
            loss = nn.functional.cross_entropy(logits, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (logits.argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {right / len(data):.3f}")
    torch.save(model.state_dict(), "pointnet.pt")


if __name__ == "__main__":
    main()
