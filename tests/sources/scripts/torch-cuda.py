"""torch-cuda: dropout on the GPU, from a generator that was seeded from entropy (needs CUDA)."""

import hashlib

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Dropout(0.5), torch.nn.Linear(64, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
values = torch.rand(64, 16).cuda()
torch.cuda.seed_all()

for step in range(8):
    loss = model(values[step * 8 : step * 8 + 8]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
