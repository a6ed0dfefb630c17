"""What is restored is not named as missing: the reason is what the script keeps beside.

Covers `data_of_its_own.py` and `evidence.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.experiments.resume.compare_resumed import compare_resumed

from .test_missing_state import Series, _record

HEAD = """\
import os, random
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
random.seed(7); torch.manual_seed(7)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
begin, kept = 0, {}
def load():
    global begin, kept
    if os.path.exists("last.pt"):
        kept = torch.load("last.pt", weights_only=False)
        net.load_state_dict(kept["net"]); optimizer.load_state_dict(kept["optimizer"]); begin = kept["epoch"]
        random.setstate(kept["python"]); torch.set_rng_state(kept["torch"])
def train(x, weight=1.0):
    loss = weight * net(x).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
def save(epoch, **more):
    states = {"python": random.getstate(), "torch": torch.get_rng_state()}
    weights = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**weights, **states, "epoch": epoch + 1, **more}, "last.pt")
"""
SCRIPTS = {
    "a schedule of the data set": """
class Data(Dataset):
    def __init__(self): self.x, self.noise = torch.randn(16, 4), 0.1
    def __len__(self): return 16
    def __getitem__(self, at): return self.x[at] + self.noise * random.random()
data = Data()
own = torch.Generator().manual_seed(3)
load()
for epoch in range(begin, 4):
    for x in DataLoader(data, 4, shuffle=True): train(x)
    data.noise *= 1.5
    save(epoch)
""",
    "a generator of the script": """
mix = torch.Generator().manual_seed(77)
data = TensorDataset(torch.randn(16, 4))
load()
for epoch in range(begin, 4):
    for number, (x,) in enumerate(DataLoader(data, 4)):
        if epoch == begin and number == 0 and kept: torch.set_rng_state(kept["torch"])
        share = torch.rand((), generator=mix)
        train(share * x + (1 - share) * x.roll(1, 0))
    save(epoch)
""",
    "a weight of the loss": """
data, weight = TensorDataset(torch.randn(16, 4)), 1.0
load()
for epoch in range(begin, 4):
    for x, in DataLoader(data, 4): train(x, weight)
    weight *= 0.7
    save(epoch)
""",
    "a replay buffer": """
seen = []
load()
for epoch in range(begin, 4):
    for _ in range(6):
        seen.append(torch.tensor([random.random() for _ in range(4)]))
        if len(seen) >= 3: train(torch.stack(random.sample(seen, 3)))
    save(epoch)
""",
    "a count of updates": """
class Target(torch.nn.Linear): pass
target, updates = Target(4, 1), 0
load()
if kept: target.load_state_dict(kept["target"])
for epoch in range(begin, 6):
    for _ in range(4):
        x = torch.tensor([[random.random() for _ in range(4)]])
        with torch.no_grad(): target(x)
        train(x)
        updates += 1
        if updates % 7 == 0: target.load_state_dict(net.state_dict())
    save(epoch, target=target.state_dict())
""",
}


@pytest.mark.parametrize(
    ("script", "named", "said"),
    [
        (
            "a schedule of the data set",
            "other state",
            "draw from python-random, whose state was the",
        ),
        pytest.param(
            "a generator of the script",
            "other state",
            "the batch is equal",
            marks=pytest.mark.slow,
        ),
        pytest.param("a weight of the loss", "other state", "no generator of torch", marks=pytest.mark.slow),
        ("a replay buffer", "other state", "though the state of python-random was restored"),
        pytest.param("a count of updates", "counters", "evaluations by Target", marks=pytest.mark.slow),
    ],
)
def test_it_is_named(script: str, named: str, said: str, tmp_path: Path) -> None:
    series = Series.of(tmp_path, HEAD + SCRIPTS[script], 9)
    (tmp_path / "killed").rename(tmp_path / "resumed")
    run = _record(tmp_path, "resumed", "")
    saved = frozenset({"python-random", "torch-cpu"})
    back = compare_resumed(series.whole, [series.killed], run, saved=lambda: saved)
    assert [lack.what for lack in back.lacks] == [named]
    assert said in back.lacks[0].evidence
