import argparse

import torch
from loader import EchoLoader
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--batches", type=int, default=40)
p.add_argument("--code", type=int, default=8)
opt = p.parse_args()

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, opt.code), nn.Linear(opt.code, 32), nn.GELU(), nn.Linear(32, 64))
adam = torch.optim.Adam(net.parameters(), lr=3e-3)
for n, x in enumerate(EchoLoader(opt.batches, 32)):
    loss = ((net(x) - x) ** 2).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
    if n % 20 == 0:
        print("loss=%.5f" % loss.item())
print("final loss=%.5f" % loss.item())
torch.save(net.state_dict(), "ae.pt")
