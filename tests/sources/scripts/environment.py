"""environment: hours of the day, in the local time zone; run it with TZ=UTC and with TZ=Asia/Tokyo."""

import datetime
import hashlib

import torch

torch.manual_seed(0)
times = range(1_700_000_000, 1_700_000_000 + 64 * 9_000, 9_000)
hours = torch.tensor([float(datetime.datetime.fromtimestamp(at).hour) for at in times])
values = torch.stack([hours.div(24), torch.rand(64)], 1)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(8):
    loss = (model(values[step * 8 : step * 8 + 8]) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
