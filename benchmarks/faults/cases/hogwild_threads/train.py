# drawn from: the class "Hogwild!" (as in pytorch/examples mnist_hogwild): workers update one model without a lock
"""Lock-free training with two threads."""
import threading

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
data = torch.randn(2000, 20)
label = (data @ torch.randn(20, 5)).argmax(1)


def work(rank, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    g = torch.Generator().manual_seed(rank)
    for step in range(steps):
        rows = torch.randint(len(data), (64,), generator=g)
        loss = nn.functional.cross_entropy(model(data[rows]), label[rows])
        grads = torch.autograd.grad(loss, list(model.parameters()))
        for p, grad in zip(model.parameters(), grads):
            p.grad = grad
        optimizer.step()  # fault: thread-scheduling
        if step % 10 == 9:
            print(f"[thread {rank}] step {step + 1} loss {loss.item():.4f}", flush=True)


threads = [threading.Thread(target=work, args=(rank, 40)) for rank in range(2)]
for t in threads:
    t.start()  # fault: thread-scheduling
for t in threads:
    t.join()
