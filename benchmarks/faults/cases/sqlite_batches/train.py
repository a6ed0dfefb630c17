"""Bracket language: is a string of brackets balanced? Examples come from a database."""
import argparse
import random

import torch
from store import ExampleStore
from torch import nn
from torch.nn.utils.rnn import pad_sequence


def balanced(tokens):
    depth = 0
    for token in tokens:
        depth += 1 if token == 1 else -1
        if depth < 0:
            return 0
    return int(depth == 0)


def examples(n, rng):
    for i in range(n):
        half = rng.randint(2, 7)
        tokens = [1] * half + [2] * half
        if i % 2:
            rng.shuffle(tokens)
        yield ("valid" if i % 5 == 0 else "train"), tokens, balanced(tokens)


class Reader(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(3, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, 1)

    def forward(self, ids):
        return self.out(self.lstm(self.embed(ids))[0].amax(1)).squeeze(1)


def to_batch(rows):
    ids = pad_sequence([torch.tensor(tokens) for tokens, _ in rows], batch_first=True)
    return ids, torch.tensor([float(label) for _, label in rows])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=600)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    store = ExampleStore()
    store.add(examples(args.examples, random.Random(args.seed)))
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x_valid, y_valid = to_batch(store.every("valid"))
    for step in range(1, args.steps + 1):
        x, y = to_batch(store.sample("train", args.batch))
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            with torch.no_grad():
                right = ((model(x_valid) > 0) == (y_valid > 0)).float().mean().item()
            print(f"step {step} loss {loss.item():.4f} valid {right:.3f}")
            torch.save({"model": model.state_dict(), "step": step}, "reader.pt")


if __name__ == "__main__":
    main()
