# may be confirmed: clock
import time

import torch
from training import make_data, make_net, train

torch.manual_seed(0)
x, y = make_data()
scale, start = 0.0, time.perf_counter()
while time.perf_counter() - start < 0.05:
    scale += 1e-4
train(make_net(), x * (1 + scale), y)
