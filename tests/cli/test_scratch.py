"""Files that one run leaves to the next, and data that changes between them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .command import called, samerun

TRAIN = """\
import os, sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Linear(8, 1)
scale = 1.0
if "resume" in sys.argv and os.path.exists("last.txt"):
    with open("last.txt") as file:
        scale = float(file.read())
if "data" in sys.argv:
    with open("data.txt") as file:
        scale = float(file.read())
for step in range(2):
    loss = model(torch.rand(4, 8) * scale).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
if "resume" in sys.argv:
    with open("last.txt", "w") as file:
        file.write(str(loss.item()))
"""


def checked(folder: Path, *words: str):
    (folder / "train.py").write_text(TRAIN)
    (folder / "data.txt").write_text("1.0")
    done = called("check", "--json", "out.json", *words, cwd=folder)
    return done, json.loads((folder / "out.json").read_text())


def test_a_file_that_run_1_left_is_named_and_proved_by_runs_without_it(tmp_path: Path) -> None:
    done, result = checked(tmp_path, "--", sys.executable, "train.py", "resume")
    assert done.returncode == 1, done.stdout + done.stderr
    (cause,) = result["causes"]
    assert (cause["source"], cause["confirmed"], cause["call_site"]) == ("resume-state", True, "train.py:8")
    assert "last.txt" in cause["evidence"]
    assert "samerun check --scratch -- " in done.stdout
    assert (tmp_path / "last.txt").exists(), "what is the user's stays"


@pytest.mark.slow  # the proof is that of the test above
def test_a_file_that_each_run_writes_anew_is_proved_too(tmp_path: Path) -> None:
    (tmp_path / "last.txt").write_text("0.5")
    done, result = checked(tmp_path, "--", sys.executable, "train.py", "resume")
    assert done.returncode == 1, done.stdout + done.stderr
    (cause,) = result["causes"]
    assert (cause["source"], cause["confirmed"]) == ("resume-state", True)


@pytest.mark.slow
def test_a_file_that_was_left_is_not_the_reason_where_nothing_is_seeded(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("torch.manual_seed(0)\n", ""))
    done = samerun("check", "--json", "out.json", "--", sys.executable, "train.py", "resume", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    confirmed = [
        item["source"]
        for item in json.loads((tmp_path / "out.json").read_text())["causes"]
        if item["confirmed"]
    ]
    assert confirmed == ["torch-cpu"]


CACHED = """\
import os, torch
import numpy as np
torch.manual_seed(0)
torch.set_num_threads(1)
if not os.path.exists("cache.pt"):
    torch.save(torch.randn(64, 8, generator=torch.Generator().manual_seed(1)).abs(), "cache.pt")
x = torch.load("cache.pt")
x = x[np.random.permutation(64)[:32].copy()]
model = torch.nn.Linear(8, 1)
for step in range(2):
    loss = model(x).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.slow
def test_a_cache_that_holds_the_same_is_not_the_reason(tmp_path: Path) -> None:
    """Run 1 alone makes it, and so parts first; the training parts without it too."""
    (tmp_path / "train.py").write_text(CACHED)
    samerun("check", "--json", "out.json", "--", sys.executable, "train.py", cwd=tmp_path)
    result = json.loads((tmp_path / "out.json").read_text())
    (cause,) = result["causes"]
    assert (cause["source"], cause["confirmed"], cause["call_site"]) == ("numpy-global", True, "train.py:8")


def test_with_scratch_each_run_begins_without_it(tmp_path: Path) -> None:
    done, _ = checked(tmp_path, "--scratch", "--", sys.executable, "train.py", "resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "last.txt").exists()


@pytest.mark.slow
def test_data_that_changed_between_the_runs_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    for value in ("1.0", "2.0"):
        (tmp_path / "data.txt").write_text(value)
        samerun("run", "--", sys.executable, "train.py", "data", cwd=tmp_path)
    done = samerun("diff", "last~1", "last", "--json", "out.json", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    best = json.loads((tmp_path / "out.json").read_text())["causes"][0]
    assert (best["source"], best["call_site"]) == ("input-data", "train.py:11")
    assert "data.txt" in best["evidence"]
