# drawn from: the class "everything that a run saves is named after the run": wandb, hydra, Lightning's version folders
"""Files with times and temporary names everywhere, none of which matters."""
import logging
import os
import tempfile
import time
import uuid
from pathlib import Path

import torch
from torch import nn

logging.basicConfig(format="%(asctime)s %(process)d %(message)s", level=logging.INFO)
torch.manual_seed(0)
run = f"run-{uuid.uuid4().hex[:6]}-{int(time.time())}"
with tempfile.TemporaryDirectory(prefix=run) as scratch:
    for i in range(10):
        g = torch.Generator().manual_seed(i)
        torch.save(torch.randn(32, 8, generator=g), Path(scratch) / f"{i}.pt")
    oldest = min(Path(scratch).iterdir(), key=os.path.getmtime)
    logging.info("oldest %s", oldest)
    files = sorted(Path(scratch).glob("*.pt"), key=lambda p: int(p.stem))
    model = nn.Linear(8, 8)
    opt = torch.optim.Adam(model.parameters())
    begin = time.time()
    for epoch in range(4):
        for f in files:
            x = torch.load(f)
            loss = (model(x) - x.roll(1, 1)).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        logging.info("%s epoch %d loss %.5f (%.2f s)", run, epoch, loss.item(), time.time() - begin)
        torch.save(model.state_dict(), Path(scratch) / f"{run}-{epoch}.ckpt")
