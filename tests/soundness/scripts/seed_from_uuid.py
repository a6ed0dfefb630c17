# may be confirmed: os-entropy
import uuid

import torch
from training import make_data, make_net, train

run_id = uuid.uuid4()
torch.manual_seed(run_id.int % 2**31)
train(make_net(), *make_data())
