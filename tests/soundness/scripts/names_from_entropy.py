# may be confirmed: os-entropy, system-reads
import os
import tempfile
import uuid

import torch
from training import make_data, make_net, train

torch.manual_seed(0)
x, y = make_data()
with tempfile.TemporaryDirectory() as folder:
    for index in range(len(x)):
        torch.save(x[index], os.path.join(folder, f"{uuid.uuid4()}.pt"))
    rows = [torch.load(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
train(make_net(), torch.stack(rows)[:16], y[:16])
