"""When samerun is killed, its command ends whole, its copies go, and its runs say so.

Covers `aftermath.py` and `afterwards.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from samerun.launching import afterwards

COMMAND = """\
import multiprocessing, os, subprocess, sys, time

SLEEP = "import time; time.sleep(300)"

def note(pid):
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{pid}\\n")

def worker():
    note(os.getpid())
    time.sleep(300)

if __name__ == "__main__":
    note(os.getpid())
    multiprocessing.get_context("fork").Process(target=worker).start()
    note(subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True).pid)
    # a daemon: its parent has ended
    text = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}], stdout=2).pid)"
    note(subprocess.check_output([sys.executable, "-c", text], start_new_session=True, text=True).strip())
    open("unfinished", "w").close()
    time.sleep(300)
"""
_MOST_S = 60.0


def wait_for(what: Callable[[], object], seconds: float = _MOST_S) -> bool:
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


class Started:
    """samerun in a process of its own, and those of its command."""

    def __init__(self, folder: Path, *words: str, text: str = COMMAND) -> None:
        self.work, self.temporary = folder / "work", folder / "temporary"
        for path in (self.work, self.temporary):
            path.mkdir()
        (self.work / "train.py").write_text(text)
        self.noted = folder / "pids"
        self.noted.touch()
        env = {**os.environ, "PIDS": str(self.noted), "TMPDIR": str(self.temporary)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "samerun.cli", *words, "--", sys.executable, "train.py"],
            cwd=self.work,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def pids(self, count: int) -> list[int]:
        assert wait_for(lambda: len(self.noted.read_text().splitlines()) >= count), self.noted.read_text()
        return [int(word) for word in self.noted.read_text().split()]

    def copies(self) -> list[str]:
        return [name for name in os.listdir(self.temporary) if name.startswith("samerun")]

    def watchers(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                if any(
                    word.endswith("afterwards.py") for word in process.cmdline()
                ) and process.environ().get("TMPDIR") == str(self.temporary):
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def manifests(self) -> list[dict[str, object]]:
        return [json.loads(path.read_text()) for path in self.work.glob(".samerun/runs/*/manifest.json")]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pid in {int(word) for word in self.noted.read_text().split()}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


@pytest.fixture
def started(tmp_path: Path):
    all_: list[Started] = []

    def start(*words: str, **options: str) -> Started:
        all_.append(Started(tmp_path, *words, **options))
        return all_[-1]

    yield start
    for one in all_:
        one.end()


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_kill_9_ends_the_whole_command_and_removes_the_copy(started) -> None:
    it = started("run", "--scratch")
    pids = it.pids(4)
    assert all(map(lives, pids)) and len(it.copies()) == 1
    it.process.kill()
    it.process.wait()
    assert wait_for(lambda: not any(map(lives, pids))), [pid for pid in pids if lives(pid)]
    assert wait_for(lambda: not it.copies())
    assert wait_for(lambda: not it.watchers())
    (manifest,) = it.manifests()
    assert manifest["outcome"] == "interrupted" and "samerun itself was killed" in str(manifest["error"])
    assert not (it.work / "unfinished").exists()


TRAINING = """\
import os, sys, time
import torch

def note(*_):
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{os.getpid()}\\n")

class Data(torch.utils.data.Dataset):
    def __len__(self): return 10**6
    def __getitem__(self, index):
        time.sleep(0.01)
        return torch.rand(4)

note()
if "RANK" not in os.environ:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    os.execv(sys.executable, [sys.executable, *torchrun])
model = torch.nn.Linear(4, 1)
for batch in torch.utils.data.DataLoader(Data(), 4, num_workers=2, worker_init_fn=note):
    model(batch).mean().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [("run",), ("check", "--scratch")])
def test_kill_9_ends_ranks_of_torchrun_and_their_workers(started, words: tuple[str, ...]) -> None:
    it = started(*words, text=TRAINING)
    pids = it.pids(7)
    it.process.kill()
    it.process.wait()
    assert wait_for(lambda: not any(map(lives, pids))), [pid for pid in pids if lives(pid)]
    assert wait_for(lambda: not it.copies())
    assert wait_for(lambda: not it.watchers())


def test_nothing_is_left_after_a_normal_end(started) -> None:
    text = "import os; open(os.environ['PIDS'], 'a').write(f'{os.getpid()}\\n'); input()"
    it = started("run", "--scratch", text=text)
    assert it.process.wait(_MOST_S) == 1  # nothing to read
    assert wait_for(lambda: not it.watchers(), 10)
    assert it.copies() == []
    assert [manifest["outcome"] for manifest in it.manifests()] == ["failed"]


def test_a_samerun_inside_a_samerun_clears_up_too(started) -> None:
    inner = f"""\
import subprocess, sys, os
open("inner.py", "w").write({COMMAND!r})
subprocess.run([sys.executable, "-m", "samerun.cli", "run", "--scratch", "--", sys.executable, "inner.py"])
"""
    it = started("run", "--scratch", text=inner)
    pids = it.pids(4)
    assert len(it.copies()) == 2
    it.process.kill()
    it.process.wait()
    assert wait_for(lambda: not any(map(lives, pids)))
    assert wait_for(lambda: not it.copies()), it.copies()
    assert wait_for(lambda: not it.watchers())


def test_what_is_over_is_forgotten_and_what_is_not_is_kept() -> None:
    said = b'path 0 []\nfolder 1 "/a"\nfolder 2 "/b c"\nrun 2 "/r"\nend 1\nfolder 3 "/d"\nend 3\nfol'
    assert afterwards._select_open(said) == b'path 0 []\nfolder 2 "/b c"\nrun 2 "/r"\nfol'
