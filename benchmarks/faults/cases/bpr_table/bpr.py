# drawn from: pytorch/pytorch#51366 (the backward of table[index] races on the CPU), in recommenders with plain parameters
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(2)
USERS, ITEMS, RANK = 300, 800, 32


class BPR(nn.Module):
    """Bayesian personalised ranking. The tables are parameters, so that they can be decayed by hand."""

    def __init__(self):
        super().__init__()
        self.users = nn.Parameter(torch.randn(USERS, RANK) * 0.1)
        self.items = nn.Parameter(torch.randn(ITEMS, RANK) * 0.1)
        self.bias = nn.Parameter(torch.zeros(ITEMS))

    def score(self, u, i):
        return (self.users[u] * self.items[i]).sum(-1) + self.bias[i]  # fault: nondeterministic-kernels

    def forward(self, u, liked, other):
        return -nn.functional.logsigmoid(self.score(u, liked) - self.score(u, other)).mean()


taste = torch.randn(USERS, 6) @ torch.randn(6, ITEMS)
u = torch.randint(USERS, (40000,))
liked = taste[u].topk(20).indices.gather(1, torch.randint(20, (40000, 1))).squeeze(1)
model = BPR()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
for epoch in range(2):
    for batch in torch.randperm(40000).split(10000):
        loss = model(u[batch], liked[batch], torch.randint(ITEMS, (len(batch),)))
        optimizer.zero_grad()
        loss.backward()  # fault: nondeterministic-kernels
        optimizer.step()
    hits = (model.users[:50] @ model.items.T + model.bias).topk(20).indices
    hr = torch.isin(hits[0], taste[0].topk(20).indices).float().mean()
    print(f"epoch {epoch} loss {loss.item():.7f} hit rate {hr.item():.2f}")
