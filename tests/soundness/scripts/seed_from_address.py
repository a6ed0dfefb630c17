# may be confirmed: memory-address
import torch
from training import make_data, make_net, train

config = object()
torch.manual_seed(id(config) % 2**31)
train(make_net(), *make_data())
