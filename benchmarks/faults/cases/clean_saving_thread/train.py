import pathlib

import torch
from saver import Saver
from torch import nn

torch.manual_seed(5)
text = ("she sells sea shells by the sea shore " * 20)[:700]
letters = sorted(set(text))
ids = torch.tensor([letters.index(c) for c in text])


class Mixer(nn.Module):
    def __init__(self, n, dim=20, context=12):
        super().__init__()
        self.embed = nn.Embedding(n, dim)
        self.time = nn.Linear(context, context)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 40), nn.GELU(), nn.Dropout(0.1), nn.Linear(40, n))

    def forward(self, x):
        h = self.embed(x)
        return self.mlp(h + self.time(h.transpose(1, 2)).transpose(1, 2)).mean(1)


model = Mixer(len(letters))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
saver = Saver(pathlib.Path("ckpt"))
for step in range(1, 41):
    start = torch.randint(0, len(ids) - 13, (16,))
    x = torch.stack([ids[s:s + 12] for s in start])
    loss = nn.functional.cross_entropy(model(x), ids[start + 12])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
    if step % 5 == 0:
        saver.save(step, model)
saver.close()
