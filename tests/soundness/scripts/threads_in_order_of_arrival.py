# may be confirmed: thread-scheduling, worker-arrival
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
from training import make_data, make_net, train

torch.manual_seed(0)
x, y = make_data()


def slow(index):
    total = 0
    for i in range(20000):
        total += i
    return x[index], y[index]


with ThreadPoolExecutor(8) as pool:
    rows = [f.result() for f in as_completed([pool.submit(slow, i) for i in range(len(x))])]
train(make_net(), torch.stack([r[0] for r in rows])[:12], torch.stack([r[1] for r in rows])[:12])
