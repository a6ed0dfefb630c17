# drawn from: meta-pytorch/torchtune#131 (workers are seeded from the main generator, which nobody seeded)
"""Logistic regression from zeros; the only randomness is the noise that the workers add."""
import torch
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        y = index % 2
        point = torch.tensor([index % 7 - 3.0, index % 5 - 2.0 + 1.5 * y])
        return point + 0.2 * torch.randn(2), torch.tensor(float(y))  # fault: worker-seeds


class LogReg(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(2))
        self.b = torch.nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return x @ self.w + self.b


if __name__ == "__main__":
    loader = DataLoader(Blobs(), batch_size=64, num_workers=2)  # fault: worker-seeds
    model = LogReg()
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(2):
        for x, y in loader:  # fault: worker-seeds
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, "loss", loss.item())
