# drawn from: lucidrains/DALLE2-pytorch#115 #130 (parameter groups made by the difference of two sets)
"""Small transformer with weight decay on matrices only and gradient clipping."""
import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.att(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


def get_optimizer(model, lr, wd):
    params = set(model.parameters())
    no_decay = {p for p in params if p.ndim < 2}
    decay = params - no_decay
    groups = [{"params": list(decay)}, {"params": list(no_decay), "weight_decay": 0.0}]  # fault: memory-address
    return torch.optim.AdamW(groups, lr=lr, weight_decay=wd)


model = nn.Sequential(nn.Linear(8, 32), Block(32, 4), Block(32, 4), Block(32, 4), nn.Linear(32, 8))
optimizer = get_optimizer(model, 1e-3, 0.1)
seq = torch.randn(64, 12, 8).cumsum(1)
for step in range(12):
    loss = (model(seq[:, :-1]) - seq[:, 1:]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 0.5)
    optimizer.step()
    if step % 4 == 0:
        print(f"{step} loss {loss.item():.6f} |g| {norm.item():.4f}")
