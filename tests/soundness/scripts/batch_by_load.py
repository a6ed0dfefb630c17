# may be confirmed: system-reads
import os

import torch
from training import make_data, make_net, train

torch.manual_seed(0)
scale = 1 + os.times().elapsed % 1
x, y = make_data()
train(make_net(), x * scale, y)
