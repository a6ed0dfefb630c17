"""`samerun diagnose` on real commands, from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .command import samerun

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


SEEDED = TRAIN.replace("import torch\n", "import torch\ntorch.manual_seed(0)\n")


@pytest.mark.parametrize(
    ("script", "said", "sources", "steps"),
    [
        (SEEDED, "one reason: python-random; with it controlled", [["python-random"]], [2]),
        pytest.param(  # every day: test_untouched.py, on a project of links
            TRAIN,
            "2 reasons: torch-cpu, python-random; with all of them",
            [["torch-cpu"], ["python-random"]],
            [0, 2],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["one cause", "both causes"],
)
def test_the_causes_are_found_and_the_patch_mends_the_script(
    tmp_path: Path, script: str, said: str, sources: list[list[str]], steps: list[int]
) -> None:
    (tmp_path / "train.py").write_text(script)
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
    assert done.stdout.startswith(f"✗ differs — {said}")
    result = json.loads((tmp_path / "out.json").read_text())
    found = [[cause["source"] for cause in item["causes"]] for item in result["found"]]
    assert found == sources
    assert [item["difference"]["step"] for item in result["found"]] == steps
    assert result["complete"] and result["patch"]["verified"]
    subprocess.run(["git", "apply", "fix.patch"], cwd=tmp_path, check=True)
    again = samerun("check", "--", sys.executable, "train.py", cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr


def test_bad_use_is_refused_with_an_example(tmp_path: Path) -> None:
    for words in (["--until", "sometimes"], ["--until", "1"], ["--seed", "3"], ["--patch", "no/such/fix"]):
        done = samerun("diagnose", *words, "--", sys.executable, "train.py", cwd=tmp_path)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
