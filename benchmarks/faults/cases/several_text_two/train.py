# drawn from: tkipf/pygcn#41 and OpenNMT/OpenNMT-py#392 in one script: set order, and `random` without a seed
"""Fast-text style classifier with word dropout."""
import random

import torch
import torch.nn as nn

TOPICS = {
    "space": "orbit rocket moon probe launch comet galaxy lander",
    "food": "oven salad pepper butter recipe soup bread honey",
    "sport": "goal match coach league sprint trophy referee medal",
}
FILLER = "today people said about large small first new many after".split()


def corpus(n=240):
    g = torch.Generator().manual_seed(0)
    for i in range(n):
        topic = list(TOPICS)[i % 3]
        words = TOPICS[topic].split()
        mine = [words[j] for j in torch.randint(len(words), (3,), generator=g)]
        rest = [FILLER[j] for j in torch.randint(len(FILLER), (5,), generator=g)]
        yield mine + rest, i % 3


class Vocab:
    def __init__(self, texts):
        words = set()
        for text, _ in texts:
            words.update(text)
        self.index = {word: i for i, word in enumerate(words)}  # fault: hash-seed

    def __call__(self, text):
        return [self.index[word] for word in text]


def word_dropout(ids, p=0.2):
    return [i for i in ids if random.random() > p] or ids[:1]  # fault: python-random


torch.manual_seed(0)
texts = list(corpus())
vocab = Vocab(texts)
bag = nn.EmbeddingBag(len(vocab.index), 16)
out = nn.Linear(16, 3)
opt = torch.optim.Adam([*bag.parameters(), *out.parameters()], lr=1e-2)
for step in range(20):
    rows = [texts[j] for j in torch.randint(len(texts), (32,))]
    ids = [word_dropout(vocab(text)) for text, _ in rows]
    flat = torch.tensor([i for row in ids for i in row])
    offsets = torch.tensor([0] + [len(row) for row in ids[:-1]]).cumsum(0)
    loss = nn.functional.cross_entropy(out(bag(flat, offsets)), torch.tensor([y for _, y in rows]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        print(f"step {step + 1} loss {loss.item():.5f}")
