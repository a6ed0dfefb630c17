"""DataLoaders: every batch with the indices of its samples, however it was loaded.

Covers `loader_passes.py`.
"""

from __future__ import annotations

import functools
import json
import re

import pytest
from trainer import Trainer

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

class Squares(Dataset):
    def __len__(self): return 10
    def __getitem__(self, n): return torch.tensor([float(n * n)])

if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    loader = DataLoader(Squares(), batch_size=4, OPTIONS)
    for epoch in range(2):
        for batch in loader:
            model(batch).sum().backward()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """recorded(options): the run with a loader of these options, made once."""

    @functools.cache
    def record(options):
        trainer = Trainer(tmp_path_factory.mktemp("loaded"))
        trainer.script(SCRIPT.replace("OPTIONS", options))
        return trainer.record("train.py")

    return record


@pytest.mark.parametrize(
    "options",
    [
        "",
        "num_workers=2",
        pytest.param("num_workers=2, persistent_workers=True, prefetch_factor=1", marks=pytest.mark.slow),
        pytest.param("num_workers=1, multiprocessing_context='spawn'", marks=pytest.mark.slow),
        "num_workers=2, in_order=False",
    ],
)
def test_batches_and_their_indices(trainer, recorded, output, options):
    run = recorded(f"shuffle=False, {options}")
    assert run.manifest.outcome == "finished", output(run)
    batches, indices = trainer.rows(run, "batch"), trainer.rows(run, "indices")
    assert len(batches) == len(indices) == 6
    assert [row.step for row in batches] == [row.step for row in indices] == list(range(6))
    by_indices = {}
    for row, batch in zip(indices, batches, strict=True):
        by_indices.setdefault(row.digest, set()).add(batch.digest)
    assert len(by_indices) == 3  # the same three batches in both epochs,
    assert all(len(digests) == 1 for digests in by_indices.values())  # each with the indices that made it
    found = re.search(r"num_workers=(\d)", options)
    assert json.loads(indices[0].detail)["workers"] == (int(found[1]) if found else 0)


def test_another_order_of_the_same_samples(trainer):
    trainer.script(SCRIPT.replace("OPTIONS", "shuffle=True"))
    rows = trainer.rows(trainer.record("train.py"), "indices")
    whole = [row for row in rows if json.loads(row.detail)["samples"] == 4]
    assert len({row.digest for row in whole}) == len(whole)


def test_one_changed_sample_changes_one_batch(trainer, recorded):
    text = SCRIPT.replace("OPTIONS", "shuffle=False, num_workers=2")
    one = trainer.rows(recorded("shuffle=False, num_workers=2"), "batch")
    trainer.script(text.replace("float(n * n)", "float(n * n) + (n == 5) * 2**-40"))
    same = trainer.rows(trainer.record("train.py"), "batch")
    assert [a.digest == b.digest for a, b in zip(one, same, strict=True)] == [True] * 6  # below float32
    trainer.script(text.replace("float(n * n)", "float(n * n) + (n == 5) * 2**-18"))
    other = trainer.rows(trainer.record("train.py"), "batch")
    assert [a.digest == b.digest for a, b in zip(one, other, strict=True)] == [True, False, True] * 2


@pytest.mark.slow
def test_a_spawned_worker_does_not_import_the_compiler(trainer):
    """It would, a second of it, for the sake of the recorder alone."""
    trainer.script("""
import sys, torch
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return torch.randn(3), "torch._dynamo" in sys.modules

if __name__ == "__main__":
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, imported in DataLoader(Noise(), batch_size=2, num_workers=1, multiprocessing_context="spawn"):
        model(x).sum().backward()
        optimizer.step()
        print(imported.tolist())
""")
    run = trainer.record("train.py", tier="ops")
    assert (run.path / "output.txt").read_text().splitlines() == ["[False, False]"] * 2
    assert trainer.rows(run, "draw", stem="rank0.worker0")
