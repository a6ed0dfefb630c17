# drawn from: pytorch/pytorch#104995's other half: torch.empty that is written before it is read
"""Batches assembled in buffers that are kept and filled."""
import torch
from torch import nn

torch.manual_seed(0)
BATCH, LONGEST = 32, 12


class Assembler:
    def __init__(self):
        self.tokens = torch.empty(BATCH, LONGEST, dtype=torch.long)
        self.mask = torch.empty(BATCH, LONGEST)

    def __call__(self, rows):
        self.tokens.fill_(0)
        self.mask.zero_()
        for i, row in enumerate(rows):
            self.tokens[i, : len(row)] = row
            self.mask[i, : len(row)] = 1
        return self.tokens.clone(), self.mask.clone()


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gain = nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.gain)

    def forward(self, x):
        return self.gain * x / x.pow(2).mean(-1, keepdim=True).add(1e-6).sqrt()


embed, norm, head = nn.Embedding(20, 16), Norm(16), nn.Linear(16, 20)
opt = torch.optim.SGD([*embed.parameters(), *norm.parameters(), *head.parameters()], lr=0.2)
assemble = Assembler()
lengths = torch.randint(4, LONGEST, (20, BATCH))
for step in range(20):
    tokens, mask = assemble([torch.randint(1, 20, (int(n),)) for n in lengths[step]])
    h = norm(embed(tokens))
    pooled = (h * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)
    loss = nn.functional.cross_entropy(head(pooled), tokens[:, 0])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        print("step", step + 1, "loss", loss.item())
