# may be confirmed: clock, process-id, os-entropy, input-data, system-reads
import subprocess
import sys

import torch
from training import make_data, make_net, train

text = subprocess.run(
    [sys.executable, "-c", "import time; print(time.time_ns())"], capture_output=True, text=True
).stdout
torch.manual_seed(int(text) % 2**31)
train(make_net(), *make_data())
