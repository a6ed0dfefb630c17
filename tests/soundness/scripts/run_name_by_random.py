# may be confirmed: numpy-global
import random

import numpy as np
import torch
from training import make_data, make_net, train

torch.manual_seed(0)
run = f"run-{random.randrange(10**6)}"
x, y = make_data()
train(make_net(), x + torch.from_numpy(np.random.rand(*x.shape)).float() * 0.1, y)
