"""nondeterministic-kernels: the backward pass of `x[index]` with two threads."""

import hashlib

import torch

torch.set_num_threads(2)
torch.manual_seed(0)
index = torch.randint(0, 50, (200_000,))
weights = torch.rand(200_000, 1)
table = torch.nn.Parameter(torch.randn(50, 8))
optimizer = torch.optim.SGD([table], lr=1e-4)

for _ in range(8):
    loss = (table[index] * weights).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(hashlib.sha256(table.detach().numpy().tobytes()).hexdigest())
