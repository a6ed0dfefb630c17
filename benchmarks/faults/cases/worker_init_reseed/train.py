# drawn from: pytorch/pytorch#5059 and the answers to it (worker_init_fn = lambda _: np.random.seed())
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class NoisyWaves(Dataset):
    def __init__(self, n=640):
        t = np.linspace(0, 6.28, 64, dtype=np.float32)
        self.freq = 1 + np.arange(n) % 5
        self.x = np.sin(self.freq[:, None] * t).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i] + 0.1 * np.random.randn(64).astype(np.float32)  # fault: worker-seeds
        return x, self.freq[i] - 1


def init_worker(worker_id):
    # every worker had the same noise without this
    np.random.seed()  # fault: worker-seeds


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    loader = DataLoader(NoisyWaves(), batch_size=64, shuffle=True, num_workers=2, worker_init_fn=init_worker)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        total = 0.0
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print("epoch", epoch, "mean loss", total / len(loader))


if __name__ == "__main__":
    main()
