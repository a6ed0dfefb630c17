"""A bag-of-words classifier on the prepared reviews."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, folder):
        meta = json.loads((folder / "meta.json").read_text())
        self.word = {word: i for i, word in enumerate(meta["words"])}
        self.label = {label: i for i, label in enumerate(meta["labels"])}
        self.rows = [json.loads(line) for line in open(folder / "reviews.jsonl")]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        bag = torch.zeros(len(self.word))
        for word in row["text"].split():
            bag[self.word[word]] += 1
        return bag, self.label[row["label"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()

    torch.manual_seed(0)
    data = Reviews(args.data)
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(len(data.word), 32), nn.ReLU(), nn.Linear(32, len(data.label)))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for bags, labels in loader:
            loss = nn.functional.cross_entropy(model(bags), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    torch.save(model.state_dict(), args.data / "model.pt")


if __name__ == "__main__":
    main()
