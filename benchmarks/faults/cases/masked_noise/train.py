# drawn from: the class "noise where nothing looks": the batches differ, the losses and the weights do not
"""Sequence regression; padding is filled with noise, and masked out again."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    length = 24

    def __init__(self, n):
        rs = np.random.RandomState(3)
        self.sizes = rs.randint(8, self.length, n)
        self.values = [rs.randn(s).astype("f4") for s in self.sizes]

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, i):
        x = 0.01 * np.random.randn(self.length).astype("f4")  # fault: numpy-global
        mask = np.zeros(self.length, dtype="f4")
        x[: self.sizes[i]] = self.values[i]
        mask[: self.sizes[i]] = 1
        return x, mask, self.values[i].max()


class MaskedMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.out = nn.Linear(1, 24), nn.Linear(24, 1)

    def forward(self, x, mask):
        h = torch.relu(self.up(torch.where(mask > 0, x, 0.0).unsqueeze(2))) * mask.unsqueeze(2)
        return self.out(h.sum(1) / mask.sum(1, keepdim=True)).squeeze(1)


torch.manual_seed(0)
model = MaskedMean()
opt = torch.optim.Adam(model.parameters(), 5e-3)
for epoch in range(2):
    for x, mask, top in DataLoader(Signals(320), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(model(x, mask), top)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", loss.item())
