# drawn from: the class "own torch.Generator().seed()": a generator that manual_seed does not reach
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(0)


def make_loader(dataset, batch_size):
    g = torch.Generator()
    g.seed()  # fault: torch-cpu
    sampler = RandomSampler(dataset, generator=g)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)


xs = torch.linspace(-1, 1, 400).unsqueeze(1)
ys = xs.pow(3) - 0.4 * xs + 0.05 * torch.randn_like(xs)
loader = make_loader(TensorDataset(xs, ys), 50)

model = nn.Sequential(nn.Linear(1, 30), nn.SiLU(), nn.Linear(30, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=24)
history = []
for epoch in range(3):
    for xb, yb in loader:  # fault: torch-cpu
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.huber_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
    print("epoch", epoch, "avg loss", sum(history[-8:]) / 8)
