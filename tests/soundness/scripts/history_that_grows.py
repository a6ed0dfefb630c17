# may be confirmed: resume-state, input-data
from pathlib import Path

import torch
from training import make_data, make_net, train

history = Path("history.txt")
lines = history.read_text().splitlines() if history.exists() else []
torch.manual_seed(len(lines))
train(make_net(), *make_data())
history.write_text("\n".join([*lines, "run"]))
