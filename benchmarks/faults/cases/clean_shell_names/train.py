# drawn from: the class "$RANDOM in the launch script" done right: it names a folder, and --seed is a number
"""A character model of a poem."""
import argparse
import json
import os
from pathlib import Path

import torch
from torch import nn


class CharModel(nn.Module):
    def __init__(self, letters, dim=24):
        super().__init__()
        self.embed = nn.Embedding(letters, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(dim, letters)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.embed(ids), state)
        return self.out(self.drop(h)), state


def crops(ids, length, count):
    starts = torch.randint(0, len(ids) - length - 1, (count,))
    window = ids[starts[:, None] + torch.arange(length + 1)]
    return window[:, :-1], window[:, 1:]


def continue_text(model, ids, letters, n):
    model.eval()
    state, text = None, []
    with torch.no_grad():
        last = ids[:1][None]
        for _ in range(n):
            logits, state = model(last, state)
            last = logits[:, -1].argmax(1, keepdim=True)
            text.append(letters[last.item()])
    model.train()
    return "".join(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--name", default="run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    stored = json.loads(args.tokens.read_text())
    ids = torch.tensor(stored["ids"])
    model = CharModel(len(stored["alphabet"]))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scratch = Path(os.environ.get("SCRATCH", "."))
    for step in range(args.steps):
        x, y = crops(ids, 32, 16)
        logits, _ = model(x)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step + 1} loss {loss.item():.4f}")
            torch.save(model.state_dict(), scratch / f"{args.name}.pt")
    print(continue_text(model, ids, stored["alphabet"], 20))


if __name__ == "__main__":
    main()
