"""thread-scheduling: four threads put prepared samples into one queue, first come, first served."""

import hashlib
import queue
import threading

import torch

torch.manual_seed(0)
values = torch.rand(64, 16)
model = torch.nn.Linear(16, 1)
ready = queue.Queue()


def prepare(indices):
    for index in indices:
        sum(n * n for n in range(30_000))
        ready.put(index)


threads = [threading.Thread(target=prepare, args=(range(first, 64, 4),)) for first in range(4)]
for thread in threads:
    thread.start()

for _ in range(8):
    batch = values[[ready.get() for _ in range(8)]]
    loss = (model(batch) - 1).square().mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
