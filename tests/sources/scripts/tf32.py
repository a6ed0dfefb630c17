"""tf32: the same training at another precision (needs CUDA).

Run it with TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1 in the environment, and without.
"""

import hashlib

import torch

torch.manual_seed(0)
model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
values = torch.rand(64, 256).cuda()

for _ in range(8):
    loss = model(values).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
