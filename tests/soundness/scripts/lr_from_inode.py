# may be confirmed: system-reads, input-data
import os
import tempfile

import torch
from training import make_data, make_net, train

torch.manual_seed(0)
with tempfile.NamedTemporaryFile() as scratch:
    stamp = os.stat(scratch.name).st_mtime_ns
torch.manual_seed(stamp % 2**31)
train(make_net(), *make_data())
