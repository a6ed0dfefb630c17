# may be confirmed: memory-address
import random

import torch
from training import make_data, make_net, train


class Config:
    lr = 0.1


torch.manual_seed(0)
random.seed(repr(Config()))
x, y = make_data()
train(make_net(), x * random.uniform(0.5, 1.5), y)
