# may be confirmed: clock
import time

import torch
from training import make_data, make_net, train

torch.manual_seed(0)
start = time.time()
net, (x, y) = make_net(), make_data()
for _ in range(3):
    train(net, x, y, lr=0.1 / (1 + time.time() - start), steps=1)
