# drawn from: the class "as many as fit": how many vectors stay in the cache follows from the resident memory of the process
"""Contrastive training of a retrieval model; negatives come from a memory of earlier embeddings (as in MoCo/XBM)."""
import collections
import os

import torch
import torch.nn.functional as F
from torch import nn

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident():
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as f:  # fault: system-reads
        return int(f.read().split()[1]) * PAGE  # fault: system-reads


class Memory:
    def __init__(self, dim, low=64, high=512):
        self.dim, self.low, self.high = dim, low, high
        self.vectors = collections.deque(maxlen=self.capacity())

    def capacity(self):
        free = (resident() // PAGE) % (self.high - self.low)
        return self.low + free

    def push(self, vectors):
        self.vectors.extend(vectors.detach().unbind())

    def all(self):
        return torch.stack(list(self.vectors))


class Encoder(nn.Module):
    def __init__(self, words=400, dim=24):
        super().__init__()
        self.words, self.project = nn.EmbeddingBag(words, dim), nn.Linear(dim, dim)

    def forward(self, ids):
        return F.normalize(self.project(torch.relu(self.words(ids))), dim=-1)


torch.manual_seed(42)
topics = torch.randint(400, (20, 12))
encoder = Encoder()
memory = Memory(24)
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
for step in range(30):
    topic = torch.randint(20, (48,))
    query = topics[topic].gather(1, torch.rand(48, 12).argsort(1)[:, :6])
    answer = topics[topic].gather(1, torch.rand(48, 12).argsort(1)[:, :6])
    q, a = encoder(query), encoder(answer)
    negatives = memory.all() if memory.vectors else q.new_zeros(0, 24)
    logits = q @ torch.cat([a, negatives]).T / 0.1
    loss = F.cross_entropy(logits, torch.arange(48))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    memory.push(a)
    if step % 5 == 4:
        print(f"step {step + 1} loss {loss.item():.5f}")
