# may be confirmed: system-reads
import numpy as np
import psutil
import torch
from training import make_data, make_net, train

torch.manual_seed(0)
np.random.seed(psutil.virtual_memory().available % 2**31)
x, y = make_data()
train(make_net(), x + torch.from_numpy(np.random.randn(*x.shape)).float() * 0.1, y)
