# drawn from: fairseq and kaldi recipes: `shuf` in the preparation, without --random-source
"""Embedding bag classifier on lines that shell tools have prepared."""
import argparse
import random

import numpy as np
import torch
from datamodule import Corpus
from torch import nn


def collate(rows, ids):
    labels = torch.tensor([label for label, _ in rows])
    flat = torch.tensor([ids[word] for _, words in rows for word in words])
    lengths = torch.tensor([0] + [len(words) for _, words in rows[:-1]])
    return flat, lengths.cumsum(0), labels


class BagModel(nn.Module):
    def __init__(self, vocab, dim=20, classes=3):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.hidden = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, flat, offsets):
        return self.out(torch.relu(self.hidden(self.bag(flat, offsets))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="corpus")
    parser.add_argument("--train-lines", type=int, default=560)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=40)
    args = parser.parse_args()

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    corpus = Corpus(args.data, args.train_lines)
    corpus.prepare()
    ids = {word: number for number, word in enumerate(corpus.words())}
    train, valid = corpus.read("train"), corpus.read("valid")
    model = BagModel(len(ids))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(args.epochs):
        for begin in range(0, len(train), args.batch_size):
            flat, offsets, labels = collate(train[begin : begin + args.batch_size], ids)
            loss = nn.functional.cross_entropy(model(flat, offsets), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            flat, offsets, labels = collate(valid, ids)
            valid_loss = nn.functional.cross_entropy(model(flat, offsets), labels)
        print(f"epoch {epoch} loss {loss.item():.4f} valid loss {valid_loss.item():.4f}")
    torch.save(model.state_dict(), "bag.pt")


if __name__ == "__main__":
    main()
