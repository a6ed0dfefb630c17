# drawn from: the class "a set in a pickle": made with a fixed hash seed, and numbered after it was loaded without one
import pickle
import sys

import torch
from corpus import sentences
from torch import nn


class Tokenizer:
    def __init__(self, path):
        with open(path, "rb") as f:
            words = pickle.load(f)
        self.ids = {"<unk>": 0}
        self.ids.update(zip(words, range(1, len(words) + 1)))  # fault: hash-seed

    def __call__(self, text):
        return [self.ids.get(word, 0) for word in text.split()]

    def __len__(self):
        return len(self.ids)


torch.manual_seed(1)
tokenizer = Tokenizer(sys.argv[1])
data = sentences()
x = torch.tensor([tokenizer(text) for text, _ in data])
y = torch.tensor([label for _, label in data])
model = nn.Sequential(nn.EmbeddingBag(len(tokenizer), 12, mode="mean"), nn.Dropout(0.2), nn.Linear(12, 3))
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(6):
    for batch in torch.randperm(len(x)).split(30):
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.5f}")
