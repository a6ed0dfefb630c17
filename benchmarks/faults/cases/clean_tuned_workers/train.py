# drawn from: the class "measure, and take the fastest" where it cannot matter: how many workers load a dataset without draws
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rings(Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, index):
        y, x = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
        r = ((y - 6) ** 2 + (x - 6) ** 2).sqrt()
        return torch.exp(-(r - 2 - index % 3).abs())[None] + index / 1000, index % 3


def best_workers(data, choices=(0, 1, 2)):
    """How many workers read two batches soonest."""
    state = torch.get_rng_state()
    took = {}
    for number in choices:
        began = time.perf_counter()
        for at, _ in enumerate(DataLoader(data, 32, num_workers=number)):
            if at == 1:
                break
        took[number] = time.perf_counter() - began
    torch.set_rng_state(state)
    return min(took, key=took.get)


def main():
    torch.manual_seed(0)
    data = Rings()
    workers = best_workers(data)
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(600, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(2):
        for x, y in DataLoader(data, 32, shuffle=True, num_workers=workers):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
