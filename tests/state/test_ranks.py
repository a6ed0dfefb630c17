"""Two real ranks in a process group: all of them save or none, all of them restore or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from samerun.errors import StateError
from samerun.state import load

TIMEOUT = 120  # seconds for both ranks together

SCRIPT = """
import json, os, random, sys, datetime
from pathlib import Path
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from samerun.digest import digest_value
from samerun.errors import StateError
from samerun.state import capture, load, save

folder, rank = Path(sys.argv[1]), int(os.environ["RANK"])
minute, store = datetime.timedelta(seconds=60), f"file://{folder}/store"
dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2, timeout=minute)
path = folder / "run" / "ckpt.pt"
said = {}

def error(call):
    try: call()
    except StateError as e: return str(e)

def digest(**objects): return digest_value(capture(**objects)).hex()

def train(steps):
    for _ in range(steps):
        x = torch.randn(8, 3) + random.random()
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return digest(**objects)

torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)))
optimizer = torch.optim.AdamW(model.parameters())
objects = {"model": model, "optimizer": optimizer}
torch.manual_seed(rank)  # each rank its own data
random.seed(rank)

train(2)
if rank == 0: path.parent.mkdir()
dist.barrier()
save(path, **objects, step=2)
expected = train(2)
said["values"] = load(path, **objects)
said["exact"] = train(2) == expected
said["files"] = sorted(each.name for each in path.parent.iterdir())

# one rank cannot save: none does
before = (path.parent / f"ckpt.rank{rank}-of-2.pt").read_bytes()
said["not saved"] = error(lambda: save(path, **objects, step=object() if rank else 3))
said["file kept"] = (path.parent / f"ckpt.rank{rank}-of-2.pt").read_bytes() == before
dist.barrier()
said["left"] = sorted(each.name for each in path.parent.iterdir())

# one rank cannot restore: none does
moved = digest(**objects)
dist.barrier()
said["not checked"] = error(lambda: load(path, **objects, **({"extra": model} if rank else {})))
said["unchanged"] = [digest(**objects) == moved]

class Fails:
    fails = False
    def state_dict(self): return {}
    def load_state_dict(self, state):
        if self.fails: raise RuntimeError("half way")

fails = Fails()
save(folder / "run" / "other.pt", **objects, fails=fails)
train(1)
moved, fails.fails = digest(**objects), rank == 1
said["not restored"] = error(lambda: load(folder / "run" / "other.pt", **objects, fails=fails))
said["unchanged"].append(digest(**objects) == moved)

# files of two saves
old = (path.parent / "ckpt.rank1-of-2.pt").read_bytes()
dist.barrier()
save(path, **objects, step=5)
dist.barrier()
new = (path.parent / "ckpt.rank1-of-2.pt").read_bytes()
dist.barrier()
if rank == 1: (path.parent / "ckpt.rank1-of-2.pt").write_bytes(old)
dist.barrier()
said["two saves"] = error(lambda: load(path, **objects))
dist.barrier()
if rank == 1: (path.parent / "ckpt.rank1-of-2.pt").write_bytes(new)
dist.barrier()
said["one save"] = load(path, **objects)

# a disk of each rank's own: the other's file is not to be seen
(folder / f"disk{rank}").mkdir()
save(folder / f"disk{rank}" / "ckpt.pt", **objects, step=6)
said["own disk"] = load(folder / f"disk{rank}" / "ckpt.pt", **objects)

said["buffers differ"] = model.module[1].running_mean.tolist()
torch.save(model.state_dict(), folder / f"model{rank}.pt")
save(path, **objects, step=7)
dist.barrier()
dist.destroy_process_group()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def said(folder: Path) -> list[dict[str, Any]]:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(folder)],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=TIMEOUT) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (out, err) in zip(started, outputs, strict=True):
        assert process.returncode == 0, out + err
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


def test_both_ranks_go_on_exactly(said: list[dict[str, Any]]) -> None:
    for one in said:
        assert one["exact"] and one["values"] == {"step": 2}
        assert one["files"] == ["ckpt.rank0-of-2.pt", "ckpt.rank1-of-2.pt"]


def test_when_one_cannot_save_none_does(said: list[dict[str, Any]]) -> None:
    assert said[1]["not saved"].startswith("step is a builtins.object")
    assert said[0]["not saved"].startswith("nothing was saved: rank 1: StateError: step is a builtins.object")
    assert all(one["file kept"] and one["left"] == one["files"] for one in said)


def test_when_one_cannot_restore_none_does(said: list[dict[str, Any]]) -> None:
    assert "extra: given" in said[1]["not checked"]
    assert said[0]["not checked"].startswith("nothing was restored: rank 1: ")
    assert "half way" in said[1]["not restored"]
    assert said[0]["not restored"].startswith("nothing was restored: rank 1: ")
    assert all(one["unchanged"] == [True, True] for one in said)


def test_files_of_two_saves_are_refused_by_both(said: list[dict[str, Any]]) -> None:
    assert all("not of one save" in one["two saves"] for one in said)
    assert all(one["one save"] == {"step": 5} and one["own disk"] == {"step": 6} for one in said)


def test_one_rank_takes_over(said: list[dict[str, Any]], folder: Path) -> None:
    """The buffers of a DistributedDataParallel are rank 0's at the next forward of all ranks."""
    assert said[0]["buffers differ"] != said[1]["buffers differ"]
    path = folder / "run" / "ckpt.pt"
    with pytest.raises(StateError, match="it was saved by 2 ranks, and here is 1"):
        load(path)

    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        bare = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
        model = DistributedDataParallel(bare)
        optimizer = torch.optim.AdamW(model.parameters())
        assert load(path, other_world=True, model=model, optimizer=optimizer) == {"step": 7}
    finally:
        dist.destroy_process_group()
    saved = torch.load(folder / "model0.pt", weights_only=True)
    assert all(torch.equal(value, saved[key]) for key, value in model.state_dict().items())
