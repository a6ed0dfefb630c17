"""attention-backend: the backward pass of fused attention (needs CUDA)."""

import hashlib

import torch

torch.manual_seed(0)
project = torch.nn.Linear(64, 3 * 64).cuda().half()
optimizer = torch.optim.SGD(project.parameters(), lr=1e-3)
tokens = torch.randn(4, 2048, 64).cuda().half()

for _ in range(8):
    query, key, value = project(tokens).reshape(4, 2048, 3, 1, 64).permute(2, 0, 3, 1, 4)
    loss = (
        torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        .float()
        .square()
        .mean()
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in project.parameters())
print(hashlib.sha256(weights).hexdigest())
