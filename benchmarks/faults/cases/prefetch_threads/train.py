# drawn from: rl-institut/simbev#23 (random numbers drawn by whichever worker comes first)
"""Two producer threads augment batches and put them on a queue."""
import queue
import threading

import numpy as np
import torch

rng = np.random.default_rng(0)
torch.manual_seed(0)
X = rng.normal(size=(1600, 24)).astype("float32")
Y = (X[:, 0] > X[:, 1]).astype("float32")
ready = queue.Queue(maxsize=4)


def produce(part):
    for start in range(part * 800, part * 800 + 800, 50):
        x, y = X[start : start + 50], Y[start : start + 50]
        for _ in range(20):  # smooth, then add noise
            x = 0.5 * (x + np.roll(x, 1, axis=0)) if _ % 7 == 6 else x * 1.0
        x = x + 0.1 * rng.normal(size=x.shape).astype("float32")  # fault: thread-scheduling
        ready.put((torch.from_numpy(x), torch.from_numpy(y)))
    ready.put(None)


for part in range(2):
    threading.Thread(target=produce, args=(part,), daemon=True).start()  # fault: thread-scheduling

net = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.ELU(), torch.nn.Linear(32, 1))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
done = n = 0
while done < 2:
    item = ready.get()  # fault: thread-scheduling
    if item is None:
        done += 1
        continue
    x, y = item
    loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    n += 1
    if n % 8 == 0:
        print(f"batch {n}: loss {loss.item():.5f}")
