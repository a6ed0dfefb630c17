"""hash-seed: a vocabulary numbered in the order of a set of words."""

import hashlib

import torch

words = "the quick brown fox jumps over the lazy dog while seven wizards quietly boil green tea"
text = words.split(" ")
numbers = {word: number for number, word in enumerate(set(text))}
tokens = torch.tensor([numbers[word] for word in text])

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Embedding(len(numbers), 8), torch.nn.Linear(8, len(numbers)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

for _ in range(8):
    loss = torch.nn.functional.cross_entropy(model(tokens[:-1]), tokens[1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
print(hashlib.sha256(weights).hexdigest())
