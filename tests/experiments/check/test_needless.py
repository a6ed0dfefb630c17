"""What differs and reaches nothing is passed over, for the reason behind it."""

from __future__ import annotations

import sys

import pytest
from trainer import Trainer

from samerun.experiments.check.check import check
from samerun.experiments.request import Request

# As a library that builds its model twice, the first time to count its strides, before it seeds.
SCRIPT = """
import os, random
from pathlib import Path
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        path = str(Path(f"{index}.txt").resolve())
        return {"path": path, "x": torch.randn(4)}

def build():
    model = nn.Sequential(nn.Linear(4, 2))
    model(torch.zeros(1, 4))
    return model

first = build()
torch.manual_seed(int(os.environ["SEED"]))
model = build()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(Numbers(), batch_size=4):
    optimizer.zero_grad()
    model(batch["x"]).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_model_that_is_made_again_after_the_seed_is_not_why_they_differ(trainer: Trainer) -> None:
    trainer.script(SCRIPT)
    trainer.script(f"export SEED=$RANDOM\n{sys.executable} train.py\n", "run.sh")
    result = check(Request(("bash", "run.sh"), trainer.folder, trainer.store))
    found = [(cause.source, cause.call_site, cause.confirmed) for cause in result.causes]
    assert found == [("environment", "run.sh:1", True)]
    assert any("without effect" in note for note in result.notes)


# What is read of the clock is freed, and the memory that nobody fills gets it: the clock is not the fault.
FREED = """
import time
import torch

torch.manual_seed(0)

def mean_of_times(count):
    return torch.tensor([time.time() % 1000 for _ in range(count)]).mean().item()

def make_statistics(width):
    return torch.empty(width)

model = torch.nn.Linear(512, 4)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
data, target = torch.randn(8, 512), torch.randn(8, 4)
assert mean_of_times(512) >= 0
running = make_statistics(512)
for _ in range(2):
    scale = 0.9 * running + 0.1 * data.abs().mean(0)
    loss = (model(data / (1 + scale.abs())) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = scale.detach()
"""


@pytest.mark.slow
def test_memory_that_is_read_unwritten_is_the_cause_and_not_what_was_freed_there(trainer: Trainer) -> None:
    trainer.script(FREED)
    result = check(Request((sys.executable, "train.py"), trainer.folder, trainer.store))
    found = [(cause.source, cause.call_site, cause.confirmed) for cause in result.causes]
    assert found == [("uninitialized-memory", "train.py:11", True)]
    assert any("train.py:8 gives other values in each run, which is not why" in note for note in result.notes)


# What is looked at by somebody who debugs draws anew in each run; what trains, threads hand in as they end.
RACES = """
import random, threading
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
entropy = random.SystemRandom()

def look():
    own = torch.Generator().manual_seed(entropy.randrange(2**31))
    return torch.randn(4, 4, generator=own).std(0)

def work(number, rows):
    values = np.random.RandomState(number)
    for _ in range(3):
        last = np.sort(values.rand(200_000))
    rows.append(last[:4] * 1e5)

def gather():
    rows = []
    threads = [threading.Thread(target=work, args=(number, rows)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return torch.tensor(np.stack(rows), dtype=torch.float32)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        IN_FORWARD
        return self.layer(x)

BEFORE
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
x = DATA
for _ in range(2):
    loss = net(x).squeeze(1).mul(torch.arange(8.0)).mean()
    optimizer.zero_grad()
    loss.backward()
    for weight in net.parameters():
        weight.grad.mul_(SCALE)
    optimizer.step()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "in_forward", "data", "scale"),
    [
        pytest.param("look()", "", "gather()", "2", id="before the training"),
        pytest.param("", "look()", "torch.ones(8, 4)", "gather()[0].sum().item()", id="in it"),
    ],
)
def test_what_races_is_not_laid_on_a_draw_that_reaches_nothing(
    trainer: Trainer, before: str, in_forward: str, data: str, scale: str
) -> None:
    script = RACES.replace("BEFORE", before).replace("IN_FORWARD", in_forward or "pass")
    script = script.replace("DATA", data).replace("SCALE", scale)
    trainer.script(script)
    start = script.splitlines().index("        thread.start()") + 1
    result = check(Request((sys.executable, "train.py"), trainer.folder, trainer.store))
    found = [(cause.source, cause.call_site, cause.confirmed) for cause in result.causes]
    assert found[0] == ("thread-scheduling", f"train.py:{start}", False)
    assert "os-entropy" not in [source for source, *_ in found]
    assert any("(os-entropy), which is not the whole reason" in note for note in result.notes)


# It goes on from what the run before has saved; two threads wait beside the training.
GOES_ON = """
import os, threading
import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
begin = 0
if os.path.exists("last.pt"):
    kept = torch.load("last.pt"); net.load_state_dict(kept["net"]); begin = kept["epoch"]
trained = threading.Event()
threads = [threading.Thread(target=trained.wait) for _ in range(2)]
for thread in threads: thread.start()
for epoch in range(begin, begin + 2):
    optimizer.zero_grad(); net(torch.ones(2, 4)).square().mean().backward(); optimizer.step()
    torch.save({"net": net.state_dict(), "epoch": epoch + 1}, "last.pt")
trained.set()
"""


@pytest.mark.slow
def test_what_differs_where_a_file_is_read_that_the_first_run_left_is_no_race(trainer: Trainer) -> None:
    trainer.script(GOES_ON)
    result = check(Request((sys.executable, "train.py"), trainer.folder, trainer.store))
    found = [(cause.source, cause.call_site, cause.confirmed) for cause in result.causes]
    assert found == [("resume-state", "train.py:9", True)]
    assert len(result.runs) == 2
