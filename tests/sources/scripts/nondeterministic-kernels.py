"""nondeterministic-kernels: the backward pass of `x[index]` with two threads."""

import hashlib

import torch

torch.set_num_threads(2)
torch.manual_seed(0)
index = torch.randint(0, 50, (200_000,))
weights = torch.rand(200_000, 1)
table = torch.nn.Parameter(torch.randn(50, 8))

for _ in range(8):
    loss = (table[index] * weights).square().sum()
    loss.backward()
    table.data, table.grad = table.data - 1e-4 * table.grad, None

print(hashlib.sha256(table.detach().numpy().tobytes()).hexdigest())
