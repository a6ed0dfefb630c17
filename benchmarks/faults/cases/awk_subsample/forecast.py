# drawn from: the class "thinned with awk": srand() without a number takes the time of day
import argparse

import pandas as pd
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--log", required=True)
parser.add_argument("--window", type=int, default=12)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()


class Forecaster(nn.Module):
    def __init__(self, channels, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden, batch_first=True)
        self.out = nn.Linear(hidden, channels)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


torch.manual_seed(args.seed)
frame = pd.read_csv(args.log, header=None, names=["t", "a", "b"], index_col="t")  # fault: input-data
values = torch.tensor(((frame - frame.mean()) / frame.std()).to_numpy(), dtype=torch.float32)
windows = values.unfold(0, args.window + 1, 1).transpose(1, 2)
model = Forecaster(values.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(24):
    batch = windows[torch.randint(200, (32,))]
    loss = nn.functional.huber_loss(model(batch[:, :-1]), batch[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 5:
        print(f"step {step + 1}: loss {loss.item():.5f}")
