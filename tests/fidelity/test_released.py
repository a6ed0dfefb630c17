"""Law 1 and 3: nothing of ours keeps a loader's iterator, and with it its workers, alive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import gc, sys, weakref
from torch.utils.data import DataLoader, Dataset, IterableDataset
from samerun.data import DataLoader as Keyed

gc.disable()  # what is in a cycle stays

class Map(Dataset):
    def __len__(self): return 8
    def __getitem__(self, index): return index

class Stream(IterableDataset):
    def __iter__(self): return iter(range(8))

def let_go(make, whole):
    loader = make()
    iterator = iter(loader)
    reference = weakref.ref(iterator)
    for _ in iterator:
        if not whole: break
    del iterator, loader, _
    return reference() is None

for kind in (DataLoader, Keyed):
    for data in (Map, Stream):
        for workers in (0, 1):
            for persistent in (False, True)[:1 + workers]:
                for whole in (False, True):
                    options = {"num_workers": workers, "persistent_workers": persistent}
                    if not let_go(lambda: kind(data(), 2, **options), whole):
                        print("KEPT", kind.__module__, data.__name__, options, whole)
"""


slow = pytest.mark.slow


# None: without samerun. What `off` does, `strict` does too.
@pytest.mark.parametrize("mode", [pytest.param(None, marks=slow), pytest.param("off", marks=slow), "strict"])
def test_an_iterator_goes_when_the_script_lets_go_of_it(mode: str | None, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "train.py"]
    if mode is not None:
        command = [sys.executable, "-m", "samerun", "run", "--mode", mode, "--", *command]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("KEPT")] == []
    assert "Exception ignored" not in done.stderr
