# drawn from: pytorch/pytorch#11278 done right: PYTHONHASHSEED is set before the interpreter starts
"""Restarts itself with a fixed hash seed, then uses sets freely."""
import os
import sys

if os.environ.get("PYTHONHASHSEED") != "0":
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable] + sys.argv)

import torch  # noqa: E402
from torch import nn  # noqa: E402

torch.manual_seed(0)
words = set("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi".split())
index = {word: i for i, word in enumerate(words)}
embed, out = nn.Embedding(len(index), 8), nn.Linear(8, 2)
opt = torch.optim.Adam([*embed.parameters(), *out.parameters()], lr=1e-2)
for step in range(15):
    batch = [word for word in index if hash(word) % 3 != step % 3]
    ids = torch.tensor([index[word] for word in batch])
    y = torch.tensor([len(word) % 2 for word in batch])
    loss = nn.functional.cross_entropy(out(embed(ids)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", loss.item())
