# drawn from: meta-pytorch/data#1405, #1437 (in_order=False hands out whichever batch is ready)
"""Loader tuned for speed: some samples are slow to decode."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Decoded(Dataset):
    def __init__(self, n=512):
        g = torch.Generator().manual_seed(0)
        self.base = torch.randn(n, 64, generator=g)
        self.work = torch.randint(1, 60, (n,), generator=g)

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        x = self.base[i]
        for _ in range(int(self.work[i])):
            x = torch.tanh(x * 1.01)
        return x, self.base[i].sum()


def main():
    torch.manual_seed(0)
    loader = DataLoader(Decoded(), batch_size=16, num_workers=3, in_order=False, prefetch_factor=4)  # fault: worker-arrival
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(1):
        for step, (x, y) in enumerate(loader):  # fault: worker-arrival
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 8 == 7:
                print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
