"""`samerun check` on real commands, from end to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .command import called, samerun

# Without an optimizer, whose first use has torch import its compiler, which takes a second.
TRAIN = """\
import random
import torch
from torch import nn

torch.manual_seed(0)
{seed}
model = nn.Linear(8, 1)
for step in range(3):
    scale = random.random()
    loss = model(torch.ones(4, 8) * scale).pow(2).mean()
    loss.backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""
OPTIMIZED = TRAIN.replace(
    "for step", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor step"
).replace(
    """\
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
""",
    """\
    optimizer.step()
    optimizer.zero_grad()
""",
)


def test_an_unseeded_random_is_found_explained_and_confirmed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.format(seed=""))
    done = samerun("check", "--json", "out.json", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["verdict"] == "differs"
    assert result["first_difference"]["step"] == 0
    assert [(cause["source"], cause["confirmed"]) for cause in result["causes"]] == [("python-random", True)]
    assert "random.seed" in done.stdout


SCORED = """\
import json, time
import numpy
{train}
rng = numpy.random.default_rng()
accuracy = float(rng.random())
{report}
print("took", time.time())
"""


@pytest.mark.parametrize(
    ("report", "what", "name"),
    [
        ('print(f"accuracy {accuracy:.5f}")', "printed", "accuracy "),
        pytest.param(
            'json.dump({"accuracy": accuracy, "at": time.time()}, open("m.json", "w"))',
            "written",
            "accuracy in m.json",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_result_alone_that_differs_is_found_at_its_line_and_its_cause_is_confirmed(
    tmp_path: Path, report: str, what: str, name: str
) -> None:
    script = SCORED.format(train=TRAIN.format(seed="random.seed(0)"), report=report)
    (tmp_path / "train.py").write_text(script)
    done = called("check", "--json", "out.json", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    first, (cause, *_) = result["first_difference"], result["causes"]
    assert (first["what"], first["step"], first["phase"]) == (what, 2, "end")
    assert first["name"].startswith(name)
    line = script.splitlines().index(report) + 1
    assert first["call_site"] == f"train.py:{line}"
    assert (cause["source"], cause["confirmed"], cause["replayed"]) == ("numpy-generator", True, True)
    assert cause["call_site"] == f"train.py:{line - 2}"
    assert result["in_play"] == ["clock"]


@pytest.mark.slow
def test_a_preview_that_no_model_saw_is_the_same_with_its_line(tmp_path: Path) -> None:
    preview = "next(iter(torch.utils.data.DataLoader(torch.arange(90.0), batch_size=8, shuffle=True)))"
    (tmp_path / "train.py").write_text(
        TRAIN.format(seed="random.seed(0)").replace(
            "torch.manual_seed(0)", f"{preview}\ntorch.manual_seed(0)"
        )
    )
    done = samerun("check", "--json", "out.json", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert (result["verdict"], len(result["runs"]), result["first_difference"]) == ("same", 2, None)
    assert any("differs at train.py:5" in note and "without effect" in note for note in result["notes"])
    assert "every batch" not in result["scope"]


@pytest.mark.slow
@pytest.mark.parametrize("reaches", [False, True])
def test_a_model_that_is_called_and_made_again_is_not_the_cause(tmp_path: Path, reaches: bool) -> None:
    """Its weights are recorded as any other model's, and differ before the step in which the rest does."""
    called = "nn.Linear(8, 1)(torch.zeros(1, 8))"
    seeds = "" if reaches else "torch.manual_seed(0)"
    text = TRAIN.format(seed=f"{called}\n{seeds}").replace(
        "random.random()", "random.random() if step else 1"
    )
    (tmp_path / "train.py").write_text(text.replace("torch.manual_seed(0)\n", "", 1))
    done = samerun("check", "--json", "out.json", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    (cause,) = result["causes"]
    named = ("torch-cpu", "train.py:5") if reaches else ("python-random", "train.py:9")
    assert (cause["source"], cause["call_site"], cause["confirmed"]) == (*named, True)
    assert any("without effect" in note for note in result["notes"]) is not reaches


@pytest.mark.slow
def test_the_fix_it_names_makes_the_runs_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(OPTIMIZED.format(seed="random.seed(0)"))
    done = samerun("check", sys.executable, "train.py", "--lr", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("✓ same — 2 runs, 3 steps, 1 rank")


def test_a_command_without_torch_is_unknown(tmp_path: Path) -> None:
    done = called("check", "--", sys.executable, "-c", "print(1)", cwd=tmp_path)
    assert done.returncode == 3
    assert "torch was never imported" in done.stdout
    assert "what the runs printed is the same" in done.stdout


def test_a_command_that_fails_is_unknown_with_its_last_lines(tmp_path: Path) -> None:
    done = called("check", "--", sys.executable, "-c", "raise ValueError('no data')", cwd=tmp_path)
    assert done.returncode == 3
    assert "failed in every run: exit code 1" in done.stdout.replace("\n", " ")
    assert "ValueError: no data" in done.stdout
