"""The surface that others rely on is the one that was kept.

Where it is meant to change, `python -m surface.described` (in tests/) prints the new one; a change that
breaks users comes with a record in docs/decisions.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from samerun.cli.arguments import find_verbs
from samerun.cli.experiment import ExperimentVerb
from samerun.experiments.cost.pricing import Ratio
from samerun.experiments.cost.result import Price
from surface.described import KEPT, describe, keys
from surface.schemas import validate

SAMERUN = [sys.executable, "-m", "samerun.cli.main"]
RUNS = (
    Path(__file__).parent / "runs"
)  # recorded with 3555631: plain, and with one weight that has another bit

SCRIPT = """
import os, random, torch
from torch.utils.data import DataLoader
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
start = 0
if os.path.exists("last.pt"):
    start, weights = torch.load("last.pt")
    model.load_state_dict(weights)
for step in range(start, 3):
    (x,) = next(iter(DataLoader(torch.randn(8, 1, 4), batch_size=8, collate_fn=lambda xs: (torch.cat(xs),))))
    loss = model(x + random.random()).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    torch.save((step + 1, model.state_dict()), "last.pt")
print("loss", loss.item())
"""
LOCKED = SCRIPT.replace(
    '    torch.save((step + 1, model.state_dict()), "last.pt")\n', ""
)  # starts at 0 again
VERBS = {
    "check": ("--scratch",),
    "diagnose": (),
    "vary": ("--factors", "python-random"),
    "cost": ("--budget", "1s", "--rounds", "2"),
    "study": ("--metric", r"loss ([\d.e+-]+)", "--seeds", "5", "--scratch"),
    "resume": ("--kill-at", "2"),
}


@pytest.fixture(scope="module")
def kept():
    return json.loads(KEPT.read_text())


@pytest.mark.parametrize("part", ["python", "verbs", "sources", "trace", "manifest", "exit codes"])
def test_names_options_ids_and_formats_are_as_before(kept, part):
    assert json.loads(json.dumps(describe()[part])) == kept[part]


def diff(a: str, b: str, folder: Path) -> tuple[int, dict]:
    done = subprocess.run(
        [*SAMERUN, "diff", "--json", "-", str(RUNS / a), str(RUNS / b)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, json.loads(done.stdout)


def test_runs_recorded_before_are_read(tmp_path, kept):
    code, result = diff("plain", "plain", tmp_path)
    assert code == 0 and result["verdict"] == "same" and result["steps"] == 3
    code, result = diff("plain", "other", tmp_path)
    assert code == 1 and result["verdict"] == "differs"
    first = result["first_difference"]
    assert (first["step"], first["phase"], first["what"], first["rank"]) == (1, "data", "input", 0)
    assert result["causes"][0]["source"] == "python-random"
    assert keys(result) == set(kept["json"]["diff"])
    validate("diff", result)


def test_each_verb_that_makes_an_experiment_has_its_keys_held(kept):
    verbs = {name for name, verb in find_verbs().items() if isinstance(verb, ExperimentVerb)}
    assert {*VERBS, "rerun", "lock", "verify"} == verbs <= set(kept["json"])  # those have a test of their own


def test_a_price_that_was_measured_has_its_ratio_and_interval():
    """Not among the keys above: a command that finds its checkpoint again makes no step to be timed."""
    price = Price("threads", "one thread", Ratio(1.2, 1.1, 1.3), (1.2, 1.2)).to_json()
    assert price["step"] == {"ratio": 1.2, "low": 1.1, "high": 1.3}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("verb", VERBS)
def test_the_keys_of_each_verbs_json_are_as_before(tmp_path, kept, verb):
    result = result_of(verb, tmp_path)
    assert keys(result) == set(kept["json"][verb])
    validate(verb, result)


@pytest.mark.slow
def test_the_keys_of_a_reruns_json_are_as_before(tmp_path, kept):
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [*SAMERUN, "run", "--mode", "off", "--", sys.executable, "train.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=230, check=True)
    (tmp_path / "train.py").write_text(SCRIPT + "os.urandom(1); os.getpid()\n")
    command = [*SAMERUN, "rerun", "last", "--except", "python-random", "--json", "result.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=230)
    assert done.returncode == 1, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert keys(result) == set(kept["json"]["rerun"])
    validate("rerun", result)


@pytest.mark.slow
def test_the_keys_of_a_locks_and_a_verifys_json_are_as_before(tmp_path, kept):
    def call(*words):
        done = subprocess.run([*SAMERUN, *words], cwd=tmp_path, capture_output=True, text=True, timeout=230)
        assert done.returncode == (words[0] == "verify"), done.stderr
        result = json.loads((tmp_path / "result.json").read_text())
        validate(words[0], result)
        return keys(result)

    (tmp_path / "train.py").write_text(LOCKED)
    call("lock", "--json", "result.json", "--", sys.executable, "train.py")
    assert call("lock", "--update", "--json", "result.json") == set(kept["json"]["lock"])
    (tmp_path / "train.py").write_text(LOCKED.replace("0.1", "0.2"))
    assert call("verify", "--json", "result.json") == set(kept["json"]["verify"])


def result_of(verb: str, folder: Path) -> dict:
    (folder / "train.py").write_text(SCRIPT)
    command = [*SAMERUN, verb, *VERBS[verb], "--json", "result.json", "--", sys.executable, "train.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=840)
    assert done.returncode in (0, 1, 3), done.stderr
    return json.loads((folder / "result.json").read_text())
