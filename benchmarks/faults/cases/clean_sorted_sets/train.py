# drawn from: RaRe-Technologies/gensim#662 as it should be: the set is sorted before it is numbered
"""Bag of words classifier over a tiny made-up corpus."""
import torch
import torch.nn as nn

torch.manual_seed(0)
TEXTS = [
    ("the match ended in a draw after extra time", 0), ("the striker scored two late goals", 0),
    ("the bank raised its interest rate again", 1), ("shares fell as the market closed", 1),
    ("the coach praised the young goalkeeper", 0), ("inflation slowed more than expected", 1),
]
STOP = {"the", "a", "in", "its", "as", "than"}

vocab = sorted({w for text, _ in TEXTS for w in text.split()} - STOP)
index = {w: i for i, w in enumerate(vocab)}
seen = set()
for text, _ in TEXTS:
    seen |= set(text.split())
print("words:", len(seen), "kept:", len(vocab))


def bag(text):
    ids = [index[w] for w in text.split() if w in index]
    return torch.bincount(torch.tensor(ids), minlength=len(vocab)).float()


x = torch.stack([bag(text) for text, _ in TEXTS])
y = torch.tensor([label for _, label in TEXTS])
model = nn.Sequential(nn.Linear(len(vocab), 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
for step in range(15):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", round(loss.item(), 6))
