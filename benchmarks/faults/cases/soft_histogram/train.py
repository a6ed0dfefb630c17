# drawn from: pytorch/pytorch#55516, #51366 (put_ with accumulate adds in the order of the threads)
"""Match the histogram of generated values to a target one."""
import torch
from torch import nn

torch.manual_seed(0)
BINS, N = 40, 120_000
grid = torch.randn(N, 1)
goal = torch.softmax(-((torch.linspace(-1, 1, BINS) - 0.3) ** 2) * 8, 0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1), nn.Tanh())
weigh = nn.Parameter(torch.ones(BINS))
opt = torch.optim.SGD([*net.parameters(), weigh], lr=0.05)


def histogram(v):
    at = (v + 1) / 2 * (BINS - 1)
    low = at.floor().clamp(0, BINS - 2)
    part = at - low
    counts = torch.zeros(BINS)
    with torch.no_grad():
        counts.put_(low.long(), 1 - part, accumulate=True)  # fault: nondeterministic-kernels
        counts.put_(low.long() + 1, part, accumulate=True)  # fault: nondeterministic-kernels
    return counts / len(v)


for step in range(10):
    values = net(grid).squeeze(1)
    density = histogram(values.detach())
    loss = (weigh * density - goal).abs().sum() + 0.1 * (values - 0.3).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", loss.item())
