# drawn from: the class "SystemRandom / secrets for sampling" (cannot be seeded at all)
"""Skip-gram with negative sampling over random walks."""
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
sampler = random.SystemRandom()
V, DIM, K = 60, 16, 5


def walks(n, length=20):
    for _ in range(n):
        node = random.randrange(V)
        walk = [node]
        for _ in range(length - 1):
            node = (node + random.choice([-3, -2, -1, 1, 2, 3])) % V
            walk.append(node)
        yield walk


def negatives(n):
    return torch.tensor([[sampler.randrange(V) for _ in range(K)] for _ in range(n)])  # fault: os-entropy


center, context = nn.Embedding(V, DIM), nn.Embedding(V, DIM)
optimizer = torch.optim.Adagrad([center.weight, context.weight], lr=0.3)
for step, walk in enumerate(walks(12)):
    pairs = [(walk[i], walk[j]) for i in range(20) for j in range(max(0, i - 2), min(20, i + 3)) if i != j]
    c, o = torch.tensor(pairs).T
    v, u, n = center(c), context(o), context(negatives(len(pairs)))
    positive = nn.functional.logsigmoid((v * u).sum(1)).mean()
    negative = nn.functional.logsigmoid(-(n @ v.unsqueeze(2)).squeeze(2)).sum(1).mean()
    loss = -(positive + negative)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"walk {step} loss {loss.item():.6f}")
