# drawn from: pytorch/pytorch#5059, open-mmlab/OpenPCDet#886 (worker_init_fn seeded by the time)
import time

import numpy as np
import torch
import torch.nn as nn
import torch.utils.data as tud


def worker_init_fn(worker_id):
    np.random.seed((int(time.time() * 1e3) + worker_id) % (2**32))  # fault: clock


class PointClouds(tud.Dataset):
    def __init__(self, n=384, points=24):
        rs = np.random.RandomState(0)
        self.clouds = rs.randn(n, points, 3).astype("float32")
        self.clouds[::2, :, 2] *= 0.1

    def __len__(self):
        return len(self.clouds)

    def __getitem__(self, i):
        angle = np.random.uniform(0, 2 * np.pi)
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype="float32")
        return self.clouds[i] @ turn, i % 2


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64))
        self.out = nn.Linear(64, 2)

    def forward(self, x):
        return self.out(self.each(x).max(dim=1).values)


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    model = PointNet()
    opt = torch.optim.Adam(model.parameters())
    loader = tud.DataLoader(PointClouds(), 64, shuffle=True, num_workers=2, worker_init_fn=worker_init_fn)
    for epoch in range(2):
        running = 0
        for clouds, label in loader:
            loss = nn.functional.cross_entropy(model(clouds), label)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        print(f"epoch {epoch}: loss={running / len(loader):.5f}")


main()
