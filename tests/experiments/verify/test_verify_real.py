"""Real trainings: locked, refactored, and changed by one character (`verify.py`)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from cli.command import samerun
from cli.test_ranks import TORCHRUN, TRAIN
from trainer import EXAMPLES

from samerun.runs.lock.file import read_lock

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
# The script, its words, what is renamed in it, and the learning rate.
TRAININGS = {
    "digits_cnn": ((sys.executable, "digits_cnn.py", "--epochs", "1", "--save", "out.pt"), "network"),
    "tiny_gpt": ((sys.executable, "tiny_gpt.py", "--steps", "8"), "network"),
    "scatter_gnn": ((sys.executable, "scatter_gnn.py", "--steps", "8"), "network"),
    "two ranks": ((*TORCHRUN, "train.py"), "network"),
}
_RATE = re.compile(r"(?<=lr=)[\d.e-]+")


def verify(folder: Path, code: int, *words: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = samerun("verify", "--json", "result.json", *words, cwd=folder, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def commit(folder: Path) -> None:
    who = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), ("add", "*.py"), ("commit", "-qm", "Train")):
        subprocess.run([*who, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_refactoring_moves_nothing_and_a_rate_differs_at_its_line(tmp_path: Path, name: str) -> None:
    command, other = TRAININGS[name]
    script = tmp_path / next(word for word in command if word.endswith(".py"))
    script.write_text(TRAIN if name == "two ranks" else (EXAMPLES / script.name).read_text())
    commit(tmp_path)
    done = samerun("lock", "--", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "samerun.lock").read_text()
    assert len(text.splitlines()) <= 200 and f"ranks = {1 + (name == 'two ranks')}\n" in text
    assert str(tmp_path) not in text
    assert verify(tmp_path, 0)["verdict"] == "same"
    plain = script.read_text()
    script.write_text("# Trains.\n\n" + re.sub(r"\bmodel\b", other, plain))
    result = verify(tmp_path, 0)
    assert (result["moved"], [item["kind"] for item in result["changed"]]) == ([], ["code"])
    script.write_text(_RATE.sub(lambda found: f"{float(found[0]) * 1.5}", plain, count=1))
    result = verify(tmp_path, 1)
    line = next(at for at, line in enumerate(plain.splitlines(), 1) if _RATE.search(line))
    assert result["changed"][0]["call_site"] == f"{script.name}:{line}" and result["changed"][0]["confirmed"]
    first = result["moved"][0]
    assert (first["step"], first["exact"]) == (0, True) and first["quantity"] in ("parameters", "optimizer")
    shutil.rmtree(tmp_path / ".samerun")
    assert verify(tmp_path, 1)["moved"][0]["step"] == 0  # by the lock alone


HASHED = """\
import torch
torch.manual_seed(0)
names = {name: hash(name) % 97 for name in ("lr", "width", "depth")}
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    loss = (model(torch.rand(2048, 64)) * (1 + names["lr"])).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def test_a_hash_seed_and_a_number_of_threads_are_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HASHED)
    seeded = {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "2"}
    command = ("lock", "--mode", "off", "--", sys.executable, "train.py")
    done = samerun(*command, cwd=tmp_path, env=seeded)
    assert done.returncode == 0, done.stdout + done.stderr
    assert verify(tmp_path, 0, env=seeded)["changed"] == []
    result = verify(tmp_path, 1, env={**seeded, "PYTHONHASHSEED": "2"})
    (changed,) = result["changed"]
    assert (changed["kind"], changed["name"], changed["confirmed"]) == ("variable", "PYTHONHASHSEED", True)
    assert result["moved"][0]["step"] == 0
    result = verify(tmp_path, 1, env={**seeded, "OMP_NUM_THREADS": "1", "LANG": "C"})
    found = {item["name"]: item["confirmed"] for item in result["changed"]}
    assert found.pop("OMP_NUM_THREADS") is True and found.keys() >= {"threads", "LANG"}
    assert not any(found.values())


# A variable whose name is not in the code as a whole: what a lock holds of the environment does not tell.
SEEDED_BY_THE_DAY = """\
import os, time
import torch
torch.manual_seed(time.time() > float(os.environ["NEW_" + "YEAR"]))
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    loss = model(torch.rand(4, 8)).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def test_what_the_locked_run_had_from_a_source_is_given_again(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SEEDED_BY_THE_DAY)
    later = {"NEW_YEAR": str(time.time() + 1e6)}
    done = samerun("lock", "--mode", "off", "--", sys.executable, "train.py", cwd=tmp_path, env=later)
    assert done.returncode == 0, done.stdout + done.stderr
    env = {"NEW_YEAR": str(time.time())}  # now it begins: to the readings of the locked run it has not
    result = verify(tmp_path, 1, env=env)
    (cause, *_) = result["compared"]["causes"]
    assert (cause["source"], cause["confirmed"], cause["replayed"]) == ("clock", True, True)
    assert result["changed"] == [] and result["unsteady"] is None
    plain = verify(tmp_path, 1, "--no-confirm", env=env)
    assert not any(cause["confirmed"] for cause in plain["compared"]["causes"])


RESUMED = """\
import sys
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
first = 0
if "--resume" in sys.argv:
    kept = torch.load("last.pt")
    model.load_state_dict(kept["model"]); optimizer.load_state_dict(kept["optimizer"])
    torch.set_rng_state(kept["rng"]); first = 4
for step in range(first, 8):
    loss = (model(torch.randn(4, 8)) - 1).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    if step == 3:
        kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**kept, "rng": torch.get_rng_state()}, "last.pt")
"""


def test_a_segment_from_a_checkpoint_is_the_locked_one_if_the_checkpoint_holds_all(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RESUMED)
    done = samerun("lock", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = read_lock(tmp_path / "samerun.lock").counts
    assert counts["torch-cpu"] >= 8 * 4 * 8  # the batches, and what initial weights and dropout draw
    words = ("--from-checkpoint", "last.pt", "--", sys.executable, "train.py", "--resume")
    result = verify(tmp_path, 0, *words)
    assert (result["verdict"], result["first_step"], result["steps"]) == ("same", 4, 8)
    (tmp_path / "train.py").write_text(RESUMED.replace('torch.set_rng_state(kept["rng"]); ', ""))
    result = verify(tmp_path, 1, *words)
    assert (result["moved"][0]["step"], result["moved"][0]["quantity"]) == (4, "inputs")  # which it draws


def test_a_training_that_no_longer_repeats_says_so_and_why(tmp_path: Path) -> None:
    late = 'if time.time() > float(os.environ["NEW_YEAR"]): torch.seed()\n'
    lines = SEEDED_BY_THE_DAY.splitlines(keepends=True)
    (tmp_path / "train.py").write_text("".join([*lines[:2], "torch.manual_seed(0)\n", late, *lines[3:]]))
    before, after = ({"NEW_YEAR": str(time.time() + far)} for far in (1e6, -1e6))
    done = samerun("lock", "--mode", "off", "--", sys.executable, "train.py", cwd=tmp_path, env=before)
    assert done.returncode == 0, done.stdout + done.stderr
    result = verify(tmp_path, 1, env=after)
    assert result["unsteady"]["verdict"] == "differs"
    (cause, *_) = result["unsteady"]["causes"]
    assert (cause["source"], cause["confirmed"]) == ("torch-cpu", True)


def test_a_simulated_machine_is_unknown_within_its_bounds_and_added(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(HASHED)
    other = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
    done = samerun("lock", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    result = verify(tmp_path, 3, env=other)
    assert result["verdict"] == "unknown" and {item["kind"] for item in result["changed"]} == {
        "machine",
        "variable",
    }
    (tmp_path / "samerun.lock").unlink()
    done = samerun("lock", "--bounds", "--", sys.executable, "train.py", cwd=tmp_path)
    assert done.returncode == 0 and "bounds for other machines: loss" in done.stdout, (
        done.stdout + done.stderr
    )
    result = verify(tmp_path, 0, env=other)
    assert result["verdict"] == "within" and result["distances"][0]["bound"] > 0
    assert verify(tmp_path, 1, "--exact", env=other)["verdict"] == "within"
    verify(tmp_path, 0, "--add", env=other)
    assert verify(tmp_path, 0, "--exact", env=other)["verdict"] == "same"
    (tmp_path / "train.py").write_text(HASHED.replace("0.01", "0.02"))
    assert verify(tmp_path, 1, env=other)["verdict"] == "differs"
