"""CBOW."""
import json
import re
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).parent
cfg = json.loads((HERE / "settings.json").read_text())


def numbered():
    target = HERE / "words.tsv"
    subprocess.run([sys.executable, str(HERE / "tools" / "number_words.py"), str(HERE / cfg["text"]), str(target)],
                   check=True, env={"LANG": "C.UTF-8"})  # fault: hash-seed
    return {word: int(number) for word, number in (line.split("\t") for line in target.read_text().splitlines())}


class CBOW(nn.Module):
    def __init__(self, words, dim):
        super().__init__()
        self.embed = nn.EmbeddingBag(words, dim)
        self.out = nn.Linear(dim, words)

    def forward(self, context):
        return self.out(self.embed(context))


def main():
    torch.manual_seed(cfg["seed"])
    number = numbered()
    ids = [number[w] for w in re.findall(r"[a-z]+", (HERE / cfg["text"]).read_text().lower())]
    w = cfg["window"]
    contexts = torch.tensor([ids[i - w:i] + ids[i + 1:i + w + 1] for i in range(w, len(ids) - w)])
    targets = torch.tensor(ids[w:len(ids) - w])
    model = CBOW(len(number) + 1, cfg["dim"])
    opt = torch.optim.Adagrad(model.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        for rows in torch.arange(len(targets)).split(8):
            loss = nn.functional.cross_entropy(model(contexts[rows]), targets[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
