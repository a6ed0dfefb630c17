# may be confirmed: python-random
import random

import torch
from training import make_data, make_net, train

torch.manual_seed(0)
x, y = make_data()
buffer = torch.empty(len(x), 8)
mask = torch.ones(len(x), 8, dtype=torch.bool)
order = list(range(len(x)))
random.shuffle(order)
train(make_net(), torch.where(mask, x[order], buffer)[:20], y[:20])
