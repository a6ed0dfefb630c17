# drawn from: the class "save, and load what this run saved": files of earlier runs are overwritten, not read
"""Keep the best weights, load them at the end; logs carry the time."""
import datetime
import json
import os
import socket

import torch
from torch import nn

torch.manual_seed(3)
os.makedirs("out", exist_ok=True)
stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
log = open(f"out/log-{stamp}-{socket.gethostname()}.jsonl", "w")

x = torch.randn(500, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
net = nn.Sequential(nn.Linear(8, 20), nn.ReLU(), nn.Linear(20, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
best = float("inf")
for epoch in range(4):
    for i in range(0, 400, 80):
        loss = nn.functional.cross_entropy(net(x[i : i + 80]), y[i : i + 80])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        valid = nn.functional.cross_entropy(net(x[400:]), y[400:]).item()
    if valid < best:
        best = valid
        torch.save(net.state_dict(), "out/best.pt")
    log.write(json.dumps({"at": datetime.datetime.now().isoformat(), "epoch": epoch, "valid": valid}) + "\n")
    print("epoch", epoch, "valid loss", valid)
net.load_state_dict(torch.load("out/best.pt"))
for p in opt.param_groups:
    p["lr"] = 1e-3
loss = nn.functional.cross_entropy(net(x), y)
opt.zero_grad()
loss.backward()
opt.step()
print("after the last step, loss", loss.item())
log.close()
