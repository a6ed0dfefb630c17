# drawn from: pytorch/pytorch#24263, #20905: a parameter made by torch.Tensor(n) and never initialised
"""A hand-written linear layer."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MyLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.Tensor(n_out, n_in))
        self.bias = nn.Parameter(torch.Tensor(n_out))  # fault: uninitialized-memory
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, x):
        return F.linear(x, self.weight, torch.tanh(self.bias))  # fault: uninitialized-memory


def batches(n):
    for _ in range(n):
        x = torch.randn(64, 9)
        yield x, (x.roll(1, 1) * x).mean(1, keepdim=True)


net = nn.Sequential(MyLinear(9, 18), nn.ReLU(), MyLinear(18, 18), nn.ReLU(), MyLinear(18, 1))
sgd = torch.optim.SGD(net.parameters(), lr=0.05)
for step, (x, y) in enumerate(batches(20)):
    loss = F.mse_loss(net(x), y)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    if step % 4 == 0:
        print(step, "loss", loss.item())
