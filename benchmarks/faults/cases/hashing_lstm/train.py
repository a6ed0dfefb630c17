# drawn from: RaRe-Technologies/gensim#662, bitextor/bicleaner#72 (hash() of a str is salted in each process)
"""LSTM sentiment toy: hashed words instead of a vocabulary."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

BUCKETS = 128
GOOD = "great lovely superb charming moving witty bright fresh".split()
BAD = "dull tedious bland clumsy tired messy flat stale".split()
REST = "the film plot cast scene music ending story was felt seemed very quite rather".split()


def sentences(n, seed):
    g = torch.Generator().manual_seed(seed)

    def pick(words):
        return words[int(torch.randint(len(words), (1,), generator=g))]

    for i in range(n):
        words = [pick(REST) for _ in range(4 + i % 5)]
        words.insert(len(words) // 2, pick(GOOD if i % 2 else BAD))
        yield " ".join(words), i % 2


def encode(text):
    return torch.tensor([hash(word) % BUCKETS for word in text.split()])  # fault: hash-seed


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(BUCKETS, 24)
        self.lstm = nn.LSTM(24, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, 2)

    def forward(self, ids):
        states, _ = self.lstm(self.embed(ids))
        return self.out(states.mean(1))


torch.manual_seed(2)
pairs = list(sentences(256, seed=2))
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(12):
    rows = torch.randint(len(pairs), (32,)).tolist()
    ids = pad_sequence([encode(pairs[r][0]) for r in rows], batch_first=True)
    loss = nn.functional.cross_entropy(model(ids), torch.tensor([pairs[r][1] for r in rows]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step:2d} loss {loss.item():.5f}")
