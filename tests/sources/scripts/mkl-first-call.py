"""mkl-first-call: the first sqrt and exp of a process on large tensors, at two threads.

Differs in about one process of ten, and only on some machines: see docs/explanations/mkl-first-call.md.
"""

import hashlib

import torch

torch.set_num_threads(2)
torch.manual_seed(0)
scale = torch.nn.Parameter(torch.ones(1_000_000))
optimizer = torch.optim.SGD([scale], lr=0.1)
values = torch.rand(1_000_000)

for _ in range(5):
    loss = ((scale * values).sqrt() + (-scale * values).exp()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(hashlib.sha256(scale.detach().numpy().tobytes()).hexdigest())
