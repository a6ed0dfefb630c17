"""`samerun diagnose` on real commands, from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .command import called, samerun

TRAIN = """\
import random
import torch
from torch import nn

model = nn.Linear(8, 1)
for step in range(4):
    scale = random.random() if step >= 2 else 1.0
    loss = model(torch.ones(4, 8) * scale).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""


def test_both_causes_are_found_and_the_patch_mends_the_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    done = samerun(
        "diagnose",
        "--json",
        "out.json",
        "--patch",
        "fix.patch",
        "--",
        sys.executable,
        "train.py",
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("✗ differs — 2 reasons: torch-cpu, python-random; with all of them")
    result = json.loads((tmp_path / "out.json").read_text())
    found = [[cause["source"] for cause in item["causes"]] for item in result["found"]]
    assert found == [["torch-cpu"], ["python-random"]]
    assert [item["difference"]["step"] for item in result["found"]] == [0, 2]
    assert result["complete"] and result["patch"]["verified"]
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True)
    again = called("check", "--", sys.executable, "train.py", cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr


def test_bad_use_is_refused_with_an_example(tmp_path: Path) -> None:
    for words in (["--until", "sometimes"], ["--until", "1"], ["--seed", "3"], ["--patch", "no/such/fix"]):
        done = samerun("diagnose", *words, "--", sys.executable, "train.py", cwd=tmp_path)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
