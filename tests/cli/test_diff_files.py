"""`samerun diff` of two files: what it says, its JSON, its exit codes, and that no torch is imported.

Covers `diff.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torches
from experiments.scripts import Script
from surface.described import KEPT, keys
from surface.schemas import validate

from .command import called, samerun
from .test_diff import recorded


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """a.pt, and b.pt with another weight, learning rate and dtype."""
    states = {"w": torch.arange(6.0).reshape(2, 3), "lr": 0.1, "gone": torch.zeros(2), "n": torch.zeros(1)}
    torch.save(states, tmp_path / "a.pt")
    states["w"][1, 2] = 5.5
    del states["gone"]
    torch.save({**states, "lr": 0.2, "n": torch.zeros(1).half()}, tmp_path / "b.pt")
    return tmp_path


def test_equal_files_are_the_same_and_exit_0_without_torch(files: Path) -> None:
    (files / "c.pt").write_bytes((files / "a.pt").read_bytes())
    done = samerun("diff", "a.pt", "c.pt", cwd=files, env={"PYTHONPATH": torches.missing(files)})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "✓ same — 3 tensors and 1 value, bit for bit\n"


def test_files_that_differ_are_exit_1_with_what_differs(files: Path) -> None:
    done = samerun("diff", "a.pt", "b.pt", "--json", "out.json", cwd=files, env={"COLUMNS": "200"})
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [
        "✗ differs — 3 of 3 tensors and 1 of 1 value differ",
        "",
        "Differences",
        "  A a.pt",
        "  B b.pt",
        "  w     1 of 6 elements of float32 [2, 3]; first at [1, 2]: A 5.0, B 5.5; up to 1,048,576 ulps "
        "apart; relative size 0.067",
        "  lr    A 0.1, B 0.2",
        "  gone  only in A: float32 [2]",
        "  n     A float32 [1], B float16 [1]",
    ]
    result = json.loads((files / "out.json").read_text())
    assert keys(result) == set(json.loads(KEPT.read_text())["json"]["diff of files"])
    validate("diff of files", result)
    assert (result["verdict"], result["files"]) == ("differs", ["a.pt", "b.pt"])
    first = result["differences"][0]
    assert (first["name"], first["what"], first["first"]) == ("w", "values", [1, 2])
    assert (first["first_a"], first["first_b"], first["differing"]) == ("5.0", "5.5", 1)
    assert (first["elements"], first["ulps"]) == (6, 2**20)


def test_long_lists_are_cut_in_the_text_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{f"w{n}": np.zeros(1) for n in range(30)})
    np.savez(tmp_path / "b.npz", **{f"w{n}": np.ones(1) for n in range(30)})
    done = called("diff", "a.npz", "b.npz", "--json", "-", cwd=tmp_path)
    assert len(json.loads(done.stdout)["differences"]) == 30
    assert "… and 10 more" in done.stderr


def test_what_is_no_pair_of_files_is_wrong_usage(files: Path) -> None:
    (run, _) = recorded(Script(), files)
    for words, said in [
        (["a.pt", run.id], f"{run.id} is a run and a.pt is a file; compare two runs, or two files"),
        ([run.id, "a.pt"], f"{run.id} is a run and a.pt is a file"),
        (["a.pt", "gone.pt"], "No run 'gone.pt'"),
        (["a.pt", "b.pt", "--html", "x.html"], "--html shows runs, and these are files"),
        (["a.pt", "b.pt", "--junit", "x.xml"], "--junit shows runs, and these are files"),
    ]:
        done = called("diff", *words, cwd=files)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_code_is_exit_3_with_its_name(tmp_path: Path) -> None:
    torch.save({"model": torch.nn.Linear(1, 1)}, tmp_path / "a.pt")
    done = called("diff", "a.pt", "a.pt", cwd=tmp_path)
    assert done.returncode == 3
    assert "torch.nn.modules.linear.Linear" in done.stderr and "may run it" in done.stderr


def test_nothing_to_compare_is_exit_3(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz")
    done = called("diff", "a.npz", "a.npz", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout == "? unknown — there is nothing in them to compare\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_large_tensors_are_never_held_whole(tmp_path: Path) -> None:
    """Two sparse files on the disk, whose tensors are 128 MB each."""

    count = 1 << 25
    for name in "ab":
        np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", np.float32, (count,))
    with open(tmp_path / "b.npy", "r+b") as file:
        file.seek(-4, 2)
        file.write(np.float32(1).tobytes())
    script = (
        "import re, sys\nfrom samerun.cli.main import main\ncode = main(sys.argv[1:])\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())\n"
        "print(code, int(peak[1]) // 1024, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "diff", "a.npy", "b.npy"], cwd=tmp_path, capture_output=True, text=True
    )
    code, peak, has_torch = done.stdout.splitlines()[-1].split()
    assert (code, has_torch) == ("1", "False"), done.stderr
    assert int(peak) < 100  # MiB
