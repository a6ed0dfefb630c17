import random

import numpy as np
import torch
from features import click_log, sessions
from torch.utils.data import DataLoader, TensorDataset

SEED = 2024


def seed_everything(seed=SEED):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


seed_everything()
df = sessions(click_log())
cols = ["user", "clicks", "dwell", "items", "top"]
X = torch.tensor(df.select(cols).to_numpy(), dtype=torch.float32)
X = (X - X.amin(0)) / (X.amax(0) - X.amin(0)).clamp_min(1)
y = torch.tensor(df["churn"].to_numpy())
loader = DataLoader(TensorDataset(X, y), batch_size=100, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.ReLU(), torch.nn.BatchNorm1d(32), torch.nn.Linear(32, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(4):
    total = 0
    for xb, yb in loader:
        loss = torch.nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"Epoch {epoch+1}/4 - loss: {total/len(loader):.6f}")
