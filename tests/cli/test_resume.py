"""`samerun resume` on real commands, from end to end, and the ways in which its options are written."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from samerun.cli.arguments import find_verbs, parse
from samerun.errors import UsageError
from samerun.runs.store import Store

from .command import samerun

# Goes on from last.pt by itself when told to; "forgetful" does not keep the state of torch's generator.
TRAIN = """\
import os, sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
data = torch.rand(12, 4, 8, generator=torch.Generator().manual_seed(1))
start = 0
if "resume" in sys.argv and os.path.exists("last.pt"):
    kept = torch.load("last.pt")
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    if "forgetful" not in sys.argv:
        torch.set_rng_state(kept["rng"])
    start = kept["step"]
if "slow" in sys.argv:
    import time
    print("sleeping", flush=True)
    time.sleep(100)
for step in range(start, 12):
    loss = model(data[step]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
    torch.save({**state, "rng": torch.get_rng_state()}, "last.pt")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


@pytest.mark.slow
def test_a_command_that_resumes_by_itself_is_killed_twice_and_gives_the_same(folder: Path) -> None:
    words = ("--json", "-", "--kill-at", "4", "--", sys.executable, "train.py", "resume")
    done = samerun("resume", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["verdict"], result["first_difference"], result["causes"]) == ("same", None, [])
    assert (result["kill_at"], result["resumed_at"], result["steps"]) == ([4, 7], [4, 7], 5)
    assert "✓ same — killed at step 4 and 7, resumed from step 4 and 7; 3 runs, 5 steps" in done.stderr
    outcomes = [run.outcome for run in Store(folder / ".samerun").list()]
    assert outcomes == ["finished", "stopped", "finished", "stopped", "finished"]
    assert not (folder / "last.pt").exists()


@pytest.mark.slow
def test_what_is_not_kept_is_named(folder: Path) -> None:
    other = f"{shlex.quote(sys.executable)} train.py resume forgetful"
    words = ("--json", "out.json", "--kill-at", "4", "--resume-with", other)
    done = samerun("resume", *words, "--", sys.executable, "train.py", cwd=folder)
    assert done.returncode == 1, done.stderr
    result = json.loads((folder / "out.json").read_text())
    assert result["verdict"] == "differs"
    first = result["first_difference"]
    assert (first["step"], first["phase"], first["what"]) == (4, "forward", "output")
    assert [(cause["source"], cause["confirmed"]) for cause in result["causes"]] == [("resume-state", True)]
    assert [lack["what"] for lack in result["lacked"]] == ["RNG state of torch-cpu"]
    assert "torch.set_rng_state" in result["causes"][0]["advice"]
    assert done.stdout.startswith("✗ differs — killed at step 4, resumed from step 4: at step 4, in forward")
    assert "The checkpoint lacked; a run never stopped does not diverge there:" in done.stdout
    assert "torch.get_rng_state()" in done.stdout
    assert "audit of last.pt: it has " in " ".join(done.stdout.split())


@pytest.mark.slow
def test_ctrl_c_leaves_a_whole_run(folder: Path) -> None:
    words = ("resume", "--kill-at", "4", "--", sys.executable, "train.py", "resume", "slow")
    process = subprocess.Popen(
        [sys.executable, "-m", "samerun.cli", *words], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 120
    while not any("sleeping" in path.read_text() for path in folder.glob(".samerun/runs/*/output.txt")):
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "samerun: interrupted; runs kept in .samerun/runs: " in said
    assert [run.outcome for run in Store(folder / ".samerun").list()] == ["interrupted"]
    assert not list(Path(tempfile.gettempdir()).glob(f"samerun-scratch-*/{folder.name}"))


# --- options -------------------------------------------------------------------------------------------


def taken(*words: str) -> argparse.Namespace:
    _, options = parse(["resume", *words], find_verbs())
    return options


@pytest.mark.parametrize(
    "words",
    [
        ("--kill-at", "3", "--resume-with", "b 'x y'", "--", "a", "--lr", "1"),
        ("--kill-at=3", "--resume-with=b 'x y'", "a", "--lr", "1"),
    ],
)
def test_options_stand_before_the_command(words: tuple[str, ...]) -> None:
    options = taken(*words)
    assert (options.command, options.kill_at) == (["a", "--lr", "1"], 3)
    assert options.resume_with == ("b", "x y")


def test_a_command_may_have_such_options_of_its_own() -> None:
    options = taken("--kill-at", "3", "--", "a", "--kill-at", "5", "--resume-with", "b")
    assert options.command == ["a", "--kill-at", "5", "--resume-with", "b"]
    assert (options.kill_at, options.resume_with) == (3, None)


@pytest.mark.parametrize(
    "line, said",
    [
        ("", "no command to run"),
        ("-- a", "say before which step to kill the command, with --kill-at STEP"),
        ("-- --kill-at 3", "options of samerun go before --"),
        ("--kill-at 0 -- a", "0 is too few; give 1 or more"),
        ("--kill-at x -- a", "'x' is not an integer"),
        ("-- a --kill-at 3", "the command has --kill-at, and resume has none; options of samerun go before"),
        ("a --kill-at=3 --resume-with b", "the command has --kill-at, and resume has none"),
        ("-- a --resume-with b", "say before which step to kill the command, with --kill-at STEP"),
        ("--kill-at 3 --resume-with ' -- a", "cannot be read as a command"),
        ("--kill-at 3 --resume-with= -- a", "the command is empty"),
        ("--kill-at 3 --seed 1 -- a", "--seed controls the sources, and resume leaves them alone"),
        ("--kill-at 3 --steps 3 -- a", "--steps 3 ends before the kill at step 3; give more than 3"),
        ("--kill-at 3 --resume-with no-such-command -- a", "'no-such-command' was not found on PATH"),
    ],
)
def test_a_mistake_says_what_it_is_and_what_to_do(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        verb, options = parse(["resume", *line.split()], find_verbs())
        verb.run(options)
    assert said in str(error.value)
    assert not list(tmp_path.glob(".samerun/runs/*"))
