# drawn from: the class "seeded by a name": a checksum of the script's path is the same each time it is started
import os
import zlib

import torch
from torch import nn

name = os.path.abspath(__file__)
seed = zlib.crc32(name.encode())
torch.manual_seed(seed)
print("experiment", os.path.basename(name))

users, items, rank = 60, 40, 6
i, j = torch.meshgrid(torch.arange(users), torch.arange(items), indexing="ij")
rating = ((i * 3 + j * 5) % 7).float().flatten() / 7
i, j = i.flatten(), j.flatten()


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Embedding(users, rank)
        self.v = nn.Embedding(items, rank)

    def forward(self, a, b):
        return (self.u(a) * self.v(b)).sum(1)


model = Factors()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    for rows in torch.randperm(len(i)).split(300):
        loss = nn.functional.mse_loss(model(i[rows], j[rows]), rating[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.5f}")
torch.save({"name": name, "model": model.state_dict()}, "factors.pt")
