# drawn from: pytorch#15359 and many seed_everything functions: PYTHONHASHSEED is set in a process that has started
"""Sentiment of short sentences, an averaged embedding."""
import torch
from reproducibility import set_seed
from torch import nn
from vocabulary import Vocabulary

GOOD = "warm lovely fine clear bright kind swift gentle".split()
BAD = "sour broken grim bleak dull harsh slow bitter".split()
FILL = "the a this film book meal was is seemed very rather quite in town again yesterday".split()
SEED = 42
LENGTH = 8


def sentences(n=400):
    g = torch.Generator().manual_seed(9)
    out = []
    for i in range(n):
        pool = GOOD if i % 2 else BAD
        pick = torch.randint(0, len(FILL), (6,), generator=g).tolist()
        words = [FILL[j] for j in pick] + [pool[j] for j in torch.randint(0, len(pool), (2,), generator=g).tolist()]
        order = torch.randperm(len(words), generator=g).tolist()
        out.append((" ".join(words[j] for j in order), i % 2))
    return out


class Averaged(nn.Module):
    def __init__(self, vocab_size, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        mask = (ids != 0).float().unsqueeze(-1)
        mean = (self.embedding(ids) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.out(self.drop(mean))


def main():
    set_seed(SEED)
    pairs = sentences()
    vocab = Vocabulary([text for text, _ in pairs])
    x = torch.tensor([vocab.encode(text, LENGTH) for text, _ in pairs])
    y = torch.tensor([label for _, label in pairs])
    x_train, y_train, x_test, y_test = x[:320], y[:320], x[320:], y[320:]

    model = Averaged(len(vocab))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(4):
        model.train()
        for rows in torch.randperm(len(x_train)).split(40):
            loss = nn.functional.cross_entropy(model(x_train[rows]), y_train[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch}: loss={loss.item():.4f} test_acc={acc:.3f}")


if __name__ == "__main__":
    main()
