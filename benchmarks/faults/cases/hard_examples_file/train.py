# drawn from: the class "a script that writes its own input": hard examples are kept for the next run
import json
from pathlib import Path

import torch
import torch.nn as nn

torch.manual_seed(0)
STORE = Path("data/examples.jsonl")


def read():
    if not STORE.exists():
        STORE.parent.mkdir(exist_ok=True)
        g = torch.Generator().manual_seed(0)
        rows = [torch.randn(4, generator=g).tolist() for _ in range(300)]
        STORE.write_text("".join(json.dumps({"x": r, "y": float(sum(r) > 0)}) + "\n" for r in rows))
    with STORE.open() as file:  # fault: input-data
        return [json.loads(line) for line in file]  # fault: input-data


def remember(rows):
    with STORE.open("a") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


rows = read()
print(len(rows), "examples")
x = torch.tensor([r["x"] for r in rows])
y = torch.tensor([[r["y"]] for r in rows])
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(15):
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, "loss", loss.item())
each = nn.functional.binary_cross_entropy_with_logits(net(x), y, reduction="none").squeeze(1)
remember([rows[i] for i in each.topk(10).indices.tolist()])
