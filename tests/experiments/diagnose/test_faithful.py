"""A patch that makes runs equal and takes random numbers from the training is not offered; others are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from trainer import Trainer

from samerun.experiments.diagnose.diagnose import diagnose
from samerun.experiments.diagnose.faithful import withdraw_unfaithful
from samerun.experiments.request import Request
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch
from samerun.runs.store import Store

HEAD = """\
import random, sys, numpy as np, torch
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
weight = torch.zeros(4, requires_grad=True)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train(batch):
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()
"""
# Each with the edit as {old: new}, and a word of the reason; None where the edit takes nothing.
OWN = """
def noise():
    rng = random.Random()
    return torch.tensor([rng.random() for _ in range(4)])
for epoch in range(6):
    random.seed(7)
    train(torch.ones(1, 4) + noise() * 0)
"""
INPUTS = """
def noise():
    rng = np.random.RandomState()
    return torch.tensor(rng.rand(1, 4), dtype=torch.float32)
for epoch in range(6):
    train(noise())
"""
AUGMENTED = """
class Noisy(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        rng = np.random.default_rng()
        return torch.ones(4) * rng.random()
def loader():
    return DataLoader(Noisy(), 4, shuffle=True, num_workers=2)
if __name__ == "__main__":
    for epoch in range(2):
        for batch in loader():
            train(batch)
"""
IN_WORKER = """
class Noisy(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.ones(4) * random.random()
def begin(number):
    random.seed(torch.initial_seed())
if __name__ == "__main__":
    for epoch in range(2):
        for batch in DataLoader(Noisy(), 4, num_workers=2, worker_init_fn=begin):
            train(batch)
"""
PUT_BACK = "state, put_back = random.getstate(), getattr(random, 'set' + 'state')\n"
FRESH, DRAWN = "random.Random()", "random.Random(random.getrandbits(64))"


@pytest.mark.parametrize(
    "script, edits, why",
    [
        (OWN, {FRESH: DRAWN}, "train.py:13 gives 6 generators one seed"),
        (OWN, {FRESH: DRAWN, "    random.seed(7)\n": ""}, None),
        (INPUTS, {"RandomState()": "RandomState(0)"}, "1 of 6 inputs of the model are different ones"),
        (INPUTS, {"RandomState()": "RandomState(np.random.randint(2**31))"}, None),
        (AUGMENTED, {"default_rng()": "default_rng(index)"}, "gives 16 generators 8 different seeds"),
        (AUGMENTED, {"default_rng()": "default_rng(np.random.randint(2**31))"}, None),
        (IN_WORKER, {"torch.initial_seed()": "number"}, "draw"),
        (IN_WORKER, {"optimizer = ": "torch.manual_seed(0)\noptimizer = "}, None),
    ],
)
def test_what_edits_take_away_is_seen(
    tmp_path: Path, script: str, edits: dict[str, str], why: str | None
) -> None:
    trainer = Trainer(tmp_path)
    text = HEAD + script
    trainer.script(text)
    plain = trainer.record("train.py")
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    trainer.script(text)
    patched = trainer.record("train.py")
    assert plain.outcome == patched.outcome == "finished", (patched.path / "output.txt").read_text()
    trainer.script(HEAD + script)
    patch = Patch("a diff", {"train.py": text}, {}, verified=True, runs=(patched.id,))
    cause = Cause("numpy-generator", None, True, "")
    found = withdraw_unfaithful(patch, [cause], plain, patched, tmp_path)
    if why is None:
        assert found == patch
    else:
        assert (found.diff, found.files, found.verified) == ("", {}, None)
        assert why in found.cannot["numpy-generator"]


def test_a_diagnosis_does_not_offer_such_a_patch(tmp_path: Path) -> None:
    """What puts a state back is not to be seen in the text of the script."""
    hidden = OWN.replace("random.seed(7)", "put_back(state)").replace("for epoch", f"{PUT_BACK}for epoch")
    script = HEAD.replace("model =", "torch.manual_seed(0)\nmodel =") + hidden.replace(" * 0)", ")")
    (tmp_path / "train.py").write_text(script)
    patch = diagnose(Request((sys.executable, "train.py"), tmp_path, Store(tmp_path / ".samerun"))).patch
    assert patch is not None and patch.diff == ""
    assert "gives 6 generators one seed" in patch.cannot["os-entropy"]
