# may be confirmed: os-entropy, numpy-generator
import numpy as np
import torch
from training import make_data, make_net, train

torch.manual_seed(0)
x, y = make_data(256)
noise = torch.from_numpy(np.random.default_rng().normal(size=x.shape)).float()
pooled = torch.zeros(64, 8).index_add_(0, torch.arange(256) % 64, x + noise * 0.1)
train(make_net(), pooled, y[:64])
