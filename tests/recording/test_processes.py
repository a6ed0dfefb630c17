"""Commands of several processes: each training process has its own trace, by a stable name.

Covers `process_identity.py`, `recorder.py`, `rng_states.py` and `start.py`.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from trainer import Trainer

from samerun import callsite
from samerun.comparing.compare_runs import compare
from samerun.recording import process_identity
from samerun.runs.source_lines import read_source
from samerun.runs.written import load_written

MODEL = """
import torch, torch.nn.functional as F
from torch import nn
torch.set_num_threads(1)

def train(model, seed, steps=2):
    torch.manual_seed(seed)
    for _ in range(steps):
        F.mse_loss(model(torch.randn(4, 3)), torch.randn(4, 1)).backward()
        for p in model.parameters():
            p.data.sub_(p.grad, alpha=0.1)
            p.grad = None
"""
SPAWNED = """
import torch.multiprocessing as mp
from model import *

def work(index):
    train(nn.Linear(3, 1), index)

if __name__ == "__main__":
    mp.start_processes(work, nprocs=2, start_method="METHOD")
"""


def stems(run):
    return sorted(run.traces())


@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=pytest.mark.slow)])
def test_spawned_training_processes(trainer, output, method):
    trainer.script(MODEL, "model.py")
    trainer.script(SPAWNED.replace("METHOD", method))
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)
    name = {"spawn": "SpawnProcess", "fork": "ForkProcess"}[method]
    assert stems(run) == [f"rank0.{name}-1", f"rank0.{name}-2"]
    for stem in stems(run):
        assert len(trainer.rows(run, "gradients", stem)) == 2
        assert run.traces()[stem].complete


def test_hogwild(trainer, output):
    trainer.script(MODEL, "model.py")
    trainer.script(
        """
        import torch.multiprocessing as mp
        from model import *
        if __name__ == "__main__":
            model = nn.Linear(3, 1)
            model.share_memory()
            workers = [mp.Process(target=train, args=(model, n)) for n in range(2)]
            for worker in workers: worker.start()
            for worker in workers: worker.join()
        """
    )
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)
    assert stems(run) == ["rank0.Process-1", "rank0.Process-2"]


def test_torchrun(trainer, output):
    trainer.script(MODEL, "model.py")
    trainer.script(
        """
        import torch.distributed as dist
        from model import *
        dist.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(nn.Linear(3, 1))
        train(model, dist.get_rank())
        dist.destroy_process_group()
        """
    )
    torchrun = str(Path(sys.executable).parent / "torchrun")
    run = trainer.record(torchrun, "--nproc-per-node", "2", "train.py")
    assert run.manifest.outcome == "finished", output(run)
    assert stems(run) == ["rank0", "rank1"]
    traces = run.traces()
    assert [traces[stem].meta["world_size"] for stem in stems(run)] == [2, 2]
    gradients = [[row.digest for row in trainer.rows(run, "gradients", stem)] for stem in stems(run)]
    assert gradients[0] == gradients[1]  # averaged over the ranks
    inputs = [[row.digest for row in trainer.rows(run, "input", stem)] for stem in stems(run)]
    assert inputs[0] != inputs[1]


@pytest.mark.slow
def test_torchrun_at_tier_ops_records_collectives(trainer, output):
    trainer.script(MODEL, "model.py")
    trainer.script(
        """
        import torch.distributed as dist
        from model import *
        dist.init_process_group("gloo")
        model = nn.Linear(3, 1)
        train(model, 0, steps=1)
        dist.all_reduce(model.weight.data)
        dist.destroy_process_group()
        """
    )
    torchrun = str(Path(sys.executable).parent / "torchrun")
    run = trainer.record(torchrun, "--nproc-per-node", "2", "train.py", tier="ops")
    assert stems(run) == ["rank0", "rank1"], output(run)
    collective = [row for row in trainer.rows(run, "operation") if row.phase == "collective"]
    (reduced,) = (row for row in collective if "allreduce" in row.name)
    assert reduced.inputs is not None
    assert reduced.digest is None  # the ranks still exchange it: what comes out shows where it is used


@pytest.mark.slow
def test_two_programs_of_one_shell_script(trainer, output):
    trainer.script(MODEL, "model.py")
    trainer.script("from model import *\ntrain(nn.Linear(3, 1), 0)\n", "one.py")
    trainer.script("from model import *\ntrain(nn.Linear(3, 1), 1, steps=3)\n", "two.py")
    script = f"{sys.executable} one.py && export TAG=7 && {sys.executable} two.py\n"
    (trainer.folder / "all.sh").write_text(script)
    run = trainer.record(shutil.which("bash"), "all.sh")
    assert run.manifest.outcome == "finished", output(run)
    first, second = stems(run)
    assert first == "rank0"
    assert len(trainer.rows(run, "gradients", first)) == 2
    assert len(trainer.rows(run, "gradients", second)) == 3
    set_by_script = [set(run.traces()[stem].meta["variables"]) for stem in (first, second)]
    assert set_by_script[1] - set_by_script[0] == {"TAG"}


IN_A_FOLDER = """
import json, os, torch
order = list({"cat", "dog", "eel", "fox", "gnu"})
os.makedirs("out", exist_ok=True)
os.chdir("out")
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
model(torch.ones(1, 2)).sum().backward()
for p in model.parameters(): p.data.add_(p.grad, alpha=-0.1)
model.zero_grad()
with open("metrics.json", "w") as file: json.dump({"first": order[0], "accuracy": os.urandom(4)[0]}, file)
torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.slow
def test_a_program_that_is_started_in_a_folder_is_shown_from_that_of_the_run(trainer, output):
    """So are the files that it writes, also after it changed to another one: all can be found again."""
    (trainer.folder / "code").mkdir()
    trainer.script(IN_A_FOLDER, "code/train.py")
    (trainer.folder / "run.sh").write_text(f"cd code && {sys.executable} train.py\n")
    runs = [trainer.record(shutil.which("bash"), "run.sh") for _ in range(2)]
    assert runs[0].manifest.outcome == "finished", output(runs[0])
    (seeded,) = trainer.rows(runs[0], "seed")
    assert seeded.call_site == "code/train.py:6"
    assert read_source(seeded.call_site, runs[0].manifest.cwd)[0][5] == "torch.manual_seed(0)"
    written = {row.detail for row in trainer.rows(runs[0], "written")}
    assert {"code/out/metrics.json", "code/out/model.pt"} <= written
    kept = [load_written(run.path)["code/out/metrics.json"] for run in runs]
    assert kept[0].site == "code/train.py:11"
    assert kept[0].values != kept[1].values
    (code,) = [json.loads(row.detail) for row in trainer.rows(runs[0], "setting") if row.name == "code"]
    assert set(code) == {"code/train.py"}


BEGIN_THREADS = """
import _thread, asyncio, glob, json, mmap, multiprocessing.pool, os, queue, random, sys, threading, time, uuid
import numpy as np, torch
torch.manual_seed(0)
failed = []
sys.unraisablehook = lambda seen: failed.append(repr(seen.exc_value))
full, pool = queue.Queue(), multiprocessing.pool.ThreadPool(1)
full.put(1)
torch.save(torch.ones(1), "a.pt")
file = open("some.bin", "wb+"); file.write(b"0" * 4096); file.flush()
begun = [
    (time.time,), (os.urandom, 4), (os.listdir, "."), (os.scandir, "."), (glob.glob, "*"), (os.getpid,),
    (uuid.uuid4,), (random.random,), (random.Random,), (np.random.rand,), (np.random.default_rng,),
    (torch.rand, 3), (torch.manual_seed, 0), (torch.empty, 3), (np.empty, 3), (hash, "a"), (open, "some.bin"),
    (full.get,), (pool.map, str, [1]), (threading.Thread(target=time.time).start,), (time.perf_counter,),
    (mmap.mmap, file.fileno(), 4096), (torch.save, torch.ones(1), "b.pt"), (torch.load, "a.pt"),
    (multiprocessing.Process(target=int).start,), (multiprocessing.Value, "i"), (torch.Generator().seed,),
]
before = _thread._count()
for call, *given in begun:
    _thread.start_new_thread(call, tuple(given))
    while _thread._count() > before: time.sleep(0.001)
model = torch.nn.Linear(2, 1)
model(torch.ones(1, 2)).sum().backward()
pool.terminate()
assert not failed, failed
"""


@pytest.mark.parametrize("tier", ["ops", pytest.param("steps", marks=pytest.mark.slow)])
def test_a_thread_may_begin_with_any_call_that_is_followed(trainer, output, tier):
    """No frame of Python is below it then, as where a thread of C++ calls: torch.distributed.rpc has such."""
    trainer.script(BEGIN_THREADS)
    run = trainer.record("train.py", tier=tier)
    assert run.manifest.outcome == "finished", output(run)
    assert not (run.path / "recording-error.txt").exists(), (run.path / "recording-error.txt").read_text()


def test_two_threads_in_the_middle_of_a_step(trainer, output):
    """Neither optimizer wraps the other: each step counts, and leaves its gradients and weights."""
    trainer.script(
        """
        import threading, torch
        torch.set_num_threads(1)
        together = threading.Barrier(2, timeout=60)

        class Meeting(torch.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {})

            def step(self):
                together.wait()
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.data.sub_(0.1 * parameter.grad)

        def work():
            model = torch.nn.Linear(3, 1)
            optimizer = Meeting(model.parameters())
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.ones(4, 3)).sum().backward()
                optimizer.step()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """
    )
    run = trainer.record("train.py")
    assert run.manifest.outcome == "finished", output(run)
    assert run.steps == 6
    assert len(trainer.rows(run, "gradients")) == 6


def test_a_program_without_torch_leaves_no_trace(trainer):
    trainer.script("import numpy, random; print(numpy.ones(2))")
    assert stems(trainer.record("train.py")) == []


def test_a_program_that_only_imports_torch_leaves_no_trace(trainer):
    trainer.script("import torch; print(torch.ones(2))")
    assert stems(trainer.record("train.py")) == []
    assert stems(trainer.record("train.py", tier="ops")) == ["rank0"]  # its operations are there


def test_a_child_that_only_makes_operations_is_recorded_to_its_end(trainer):
    """It leaves through os._exit, past atexit."""
    trainer.script("""
import multiprocessing, torch

def child():
    x = torch.ones(3)
    for _ in range(5): x = x * 2

if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
""")
    run = trainer.record("train.py", tier="ops")
    made = [row.name for stem in run.traces() for row in trainer.rows(run, "operation", stem=stem)]
    assert made.count("aten.mul.Tensor") == 5


NAMED_LIKE_OURS = """
import os, torch.multiprocessing as mp
from model import *

def work(seed):
    torch.manual_seed(0)
    train(nn.Linear(3, 1), seed)

if __name__ == "__main__":
    for name in ("worker0", "helper-1"):
        process = mp.get_context("spawn").Process(target=work, args=(int(os.environ["SEED"]),), name=name)
        process.start()
        process.join()
"""


@pytest.mark.slow
def test_a_process_that_the_script_calls_a_worker_is_compared(trainer, monkeypatch):
    trainer.script(MODEL, "model.py")
    trainer.script(NAMED_LIKE_OURS)
    runs = []
    for seed in ("0", "0", "1"):
        monkeypatch.setenv("SEED", seed)
        runs.append(trainer.record("train.py"))
    assert stems(runs[0]) == ["rank0.process-helper-1", "rank0.process-worker0"]
    assert compare(runs[0], runs[1]).verdict == "same"
    assert compare(runs[0], runs[2]).verdict == "differs"


MADE_LATER = """
import os, torch
from torch.utils.data import DataLoader, Dataset
model = torch.nn.Linear(1, 1)
scale = torch.nn.Identity()  # a transform, as torchvision's are
class Data(Dataset):
    def __len__(self): return 2
    def __getitem__(self, index):
        os.urandom(4)
        return scale(torch.ones(1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # whose step is over before the worker is there
def step(batch):
    model(batch).sum().backward()
    optimizer.step()
step(torch.ones(1, 1))
for batch in DataLoader(Data(), num_workers=1):
    step(batch)
"""


def test_a_worker_that_is_started_when_the_run_is_to_end_gives_its_batch(tmp_path):
    """The process that trains waits for it, and ends at its own next step."""
    trainer = Trainer(tmp_path)
    trainer.script(MADE_LATER)
    run = trainer.record("train.py", stop_after=0)
    assert run.outcome == "stopped"
    assert run.manifest.duration_s < 60


def test_a_process_in_a_copy_goes_by_its_command_line_in_the_original(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def digest(*words: str) -> tuple[str, list[str]]:
        monkeypatch.setattr(sys, "orig_argv", ["python", *words])
        return process_identity.digest_argv(), process_identity.read_argv()

    original = digest("/home/ada/train.py", "--config=/home/ada/a.yaml")
    monkeypatch.setattr(callsite, "_root", "/tmp/copy")
    assert digest("/tmp/copy/home/ada/train.py", "--config=/tmp/copy/home/ada/a.yaml") == original
    assert digest("/tmp/copy/home/ada/other.py", "--config=/tmp/copy/home/ada/a.yaml") != original
