# drawn from: accelerate.utils.set_seed is called after the data was split
"""A loop with accelerate, on a random split of the digits."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

x, y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(x[:640] / 16, dtype=torch.float32), torch.tensor(y[:640]))
train, held_out = random_split(data, [512, 128])  # fault: torch-cpu

set_seed(11)
accelerator = Accelerator(cpu=True)
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(train, 64, shuffle=True))
for epoch in range(2):
    for inputs, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.print(f"epoch {epoch} loss {loss.item():.4f}")
