# drawn from: the class "shuf in a pipeline": a shell script takes lines by chance before the training
import argparse
import csv
from collections import Counter
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader


def read(path):
    with open(path, newline="") as file:  # fault: input-data
        return [(int(label), text.split()) for label, text in csv.reader(file, delimiter="\t")]  # fault: input-data


class Vocabulary:
    def __init__(self, texts):
        counts = Counter(word for words in texts for word in words)
        self.index = {word: i + 1 for i, word in enumerate(sorted(counts))}

    def __len__(self):
        return len(self.index) + 1

    def encode(self, words):
        return [self.index.get(word, 0) for word in words]


class BagOfWords(nn.Module):
    def __init__(self, size, dim=12):
        super().__init__()
        self.bag = nn.EmbeddingBag(size, dim, mode="mean")
        self.out = nn.Sequential(nn.Tanh(), nn.Dropout(0.1), nn.Linear(dim, 2))

    def forward(self, ids, offsets):
        return self.out(self.bag(ids, offsets))


def collate(vocabulary):
    def make(rows):
        encoded = [vocabulary.encode(words) for _, words in rows]
        offsets = torch.tensor([0] + [len(ids) for ids in encoded[:-1]]).cumsum(0)
        return torch.tensor([i for ids in encoded for i in ids]), offsets, torch.tensor([label for label, _ in rows])

    return make


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--valid", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=33)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rows, valid = read(args.train), read(args.valid)
    vocabulary = Vocabulary(words for _, words in valid + rows)
    loader = DataLoader(rows, batch_size=30, shuffle=True, collate_fn=collate(vocabulary))
    ids, offsets, labels = collate(vocabulary)(valid)
    model = BagOfWords(len(vocabulary))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        model.train()
        for batch, starts, y in loader:
            loss = nn.functional.cross_entropy(model(batch, starts), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(ids, offsets).argmax(1) == labels).float().mean().item()
        print(f"epoch {epoch}\tloss {loss.item():.4f}\taccuracy {accuracy:.3f}")
    torch.save({"model": model.state_dict(), "words": vocabulary.index}, args.out / "bag.pt")


if __name__ == "__main__":
    main()
