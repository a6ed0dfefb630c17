# may be confirmed: uninitialized-memory, os-entropy
import os

import numpy as np
import torch
from training import make_data, make_net, train

torch.manual_seed(0)
trash = [np.frombuffer(os.urandom(32 * 8 * 4), np.float32).copy() for _ in range(64)]
del trash
x, y = make_data()
padded = np.empty((len(x), 8), np.float32)
padded[:, :6] = x[:, :6]
padded = np.clip(np.nan_to_num(padded), -1, 1)
train(make_net(), torch.from_numpy(padded), y)
