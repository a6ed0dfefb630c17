# may be confirmed: os-entropy
import random

import numpy as np
import torch
from training import make_data, make_net, train

torch.manual_seed(0)
np.random.seed(random.SystemRandom().randrange(2**31))
x, y = make_data()
keep = np.random.permutation(len(x))[:20]
train(make_net(), x[keep], y[keep])
