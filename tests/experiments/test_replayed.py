"""Real runs that are given what a recorded run had, and causes that are confirmed in this way.

Covers `check/confirm.py` and `check/first_runs.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from samerun.comparing.compare_runs import compare
from samerun.experiments.check.check import check
from samerun.experiments.check.confirm import Proof, confirm_found
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.diagnose import diagnose
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.replayed import Recorded
from samerun.experiments.request import Request
from samerun.experiments.trials import Trials
from samerun.explaining.explained import Explained
from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Evidence, Strength
from samerun.runs.plan import Plan, Replay
from samerun.runs.store import Run, Store

TRAINING = """
net = torch.nn.Linear(4, 2)
for _ in range(3):
    net(torch.ones(3, 4) + value).square().mean().backward()
    for p in net.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""
UNSEEDED = "import random\nimport torch\nvalue = random.random()" + TRAINING
# The generator is seeded, but with another number each time: it is not what differs from run to run.
CACHES = """\
import os, torch
if os.path.exists("cache.pt"):
    x = torch.load("cache.pt")
else:
    x = torch.linspace(0, 1, 8).mul(2).reshape(4, 2)
    torch.save(x + {bit}, "cache.pt")
model = torch.nn.Linear(2, 1)
for step in range(3):
    model(x).square().mean().backward()
    for p in model.parameters():
        p.data, p.grad = p.data - 0.1 * p.grad, None
"""
FROM_ADDRESS = "import torch\ntorch.manual_seed(id(object()) % 2**31)\nvalue = 0" + TRAINING
FROM_CLOCK = "import time\nimport torch\ntorch.manual_seed(time.time_ns() % 2**31)\nvalue = 0" + TRAINING
FROM_TIMES = "import os\nimport torch\ntorch.manual_seed(0)\nvalue = os.times().elapsed % 1" + TRAINING
REPLACED = """import numpy as np
import torch
value = 0
generator = torch.Generator().manual_seed(int(np.random.SeedSequence().generate_state(1)[0]))
""" + TRAINING.replace(
    "for _ in",
    "for p in net.parameters():\n    p.data.copy_(torch.randn(p.shape, generator=generator))\nfor _ in",
)
FROM_DRAW = (
    """import random
import torch
seed = random.randint(1, 10000)
random.seed(seed)
torch.manual_seed(seed)
value = 0
"""
    + TRAINING
)
# Of the two alone the draw reaches the training; what holds it still leaves runs that differ before it.
STAMPED = (
    "import random\nimport time\nimport torch\ntorch.manual_seed(0)\nstamp = torch.tensor(time.time_ns())"
)
STAMPED += TRAINING.replace("value", "random.random()")
FROM_SECRET = "import secrets\nimport torch\ntorch.manual_seed(0)\nvalue = secrets.randbelow(1000)" + TRAINING


def requested(folder: Path, script: str) -> Request:
    (folder / "train.py").write_text(script)
    return Request((sys.executable, "train.py"), folder, Store(folder / ".samerun"))


def checked(folder: Path, script: str) -> CheckResult:
    return check(requested(folder, script))


def confirmed(result: CheckResult) -> dict[str, bool]:
    return {cause.source: cause.replayed for cause in result.causes if cause.confirmed}


def sources_confirmed(diagnosis: Diagnosis) -> list[str]:
    return [cause.source for found in diagnosis.found for cause in found.causes if cause.confirmed]


def recorded(folder: Path, script: str, replayed: Run | None = None) -> Run:
    request = requested(folder, script)
    replay = None if replayed is None else Replay(str(replayed.path))
    return record(LaunchRequest(request.command), Plan(replay=replay), Workspace(folder, request.store))


def repeat(folder: Path, script: str, run: Run, *sources: str) -> tuple[str, str | None]:
    trials = Trials(requested(folder, script))
    again = Recorded(run, Plan()).repeat(trials, "replaying", sources, 1)
    return again.verdict, again.reason


@pytest.fixture(scope="module")
def unseeded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Run]:
    folder = tmp_path_factory.mktemp("unseeded")
    return folder, UNSEEDED, recorded(folder, UNSEEDED)


def test_a_run_goes_on_as_the_one_whose_draws_it_is_given(unseeded: tuple[Path, str, Run]) -> None:
    assert repeat(*unseeded, "python-random", "torch-cpu") == ("same", None)


def test_a_run_that_is_given_half_of_them_differs(unseeded: tuple[Path, str, Run]) -> None:
    assert repeat(*unseeded, "torch-cpu")[0] == "differs"


@pytest.mark.slow
def test_what_was_not_kept_is_not_taken_for_a_difference(tmp_path: Path) -> None:
    run = recorded(tmp_path, FROM_SECRET)
    verdict, reason = repeat(tmp_path, FROM_SECRET, run, "os-entropy")
    assert verdict == "unknown"
    assert reason is not None and "train.py:4" in reason and "is not kept" in reason


@pytest.mark.slow
def test_an_unseeded_generator_is_confirmed_by_a_replay(tmp_path: Path) -> None:
    assert confirmed(checked(tmp_path, UNSEEDED)) == {"torch-cpu": True}


@pytest.mark.slow
def test_a_time_made_a_tensor_before_the_training_hides_no_cause(tmp_path: Path) -> None:
    result = checked(tmp_path, STAMPED)
    assert confirmed(result) == {"python-random": True}
    assert result.difference is not None and result.difference.phase == "data"
    assert len(list((tmp_path / ".samerun" / "runs").iterdir())) == 3


@pytest.mark.slow
def test_the_clock_behind_a_seed_is_confirmed_by_a_replay(tmp_path: Path) -> None:
    assert confirmed(checked(tmp_path, FROM_CLOCK)) == {"clock": True}


@pytest.mark.slow
def test_the_draw_behind_a_seed_is_confirmed_by_a_replay(tmp_path: Path) -> None:
    (cause,) = checked(tmp_path, FROM_DRAW).causes
    assert (cause.source, cause.call_site, cause.confirmed) == ("python-random", "train.py:3", True)


@pytest.mark.slow
def test_of_what_was_found_otherwise_that_is_confirmed_which_a_replay_gives(tmp_path: Path) -> None:
    trials, plan = Trials(requested(tmp_path, UNSEEDED)), Plan(tier="ops", window=(-1, 0), stop_after=0)
    runs = trials.record("recording", 2, plan)
    difference = compare(*runs).difference
    assert difference is not None
    proof = Proof(trials, plan, (), Recorded(runs[0], plan))
    found = [
        Evidence(source, Strength.STRONG, "said", "train.py:1") for source in ("python-random", "torch-cpu")
    ]
    (cause,) = confirm_found(Explained(difference), found, proof)
    assert (cause.source, cause.replayed) == ("torch-cpu", True)
    assert confirm_found(Explained(difference), found[:1], proof) == ()


@pytest.mark.slow
def test_a_diagnosis_confirms_by_a_replay_what_has_no_control(tmp_path: Path) -> None:
    diagnosis = diagnose(requested(tmp_path, FROM_TIMES))
    assert sources_confirmed(diagnosis) == ["system-reads"]
    assert diagnosis.complete
    (found,) = diagnosis.found
    assert found.proof is not None
    assert (found.proof.way, found.proof.controlled) == ("replay", ("system-reads",))


@pytest.mark.slow  # two causes, and two runs without the one
@pytest.mark.timeout(900)
def test_initial_weights_that_are_replaced_are_no_cause(tmp_path: Path) -> None:
    diagnosis = diagnose(requested(tmp_path, REPLACED))
    assert sources_confirmed(diagnosis) == ["numpy-generator"]
    assert any("without effect" in note for note in diagnosis.check.notes)
    assert diagnosis.patch is not None and diagnosis.patch.verified


@pytest.mark.slow  # two causes, and two runs without the one
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("bit", "expected"), [("0", ["torch-cpu"]), ("len(x)", ["resume-state", "torch-cpu"])]
)
def test_a_cache_that_the_first_run_fills_is_a_cause_where_it_holds_other_bits(
    tmp_path: Path, bit: str, expected: list[str]
) -> None:
    diagnosis = diagnose(requested(tmp_path, CACHES.format(bit=bit)))
    assert sorted(sources_confirmed(diagnosis)) == expected
    assert any("without effect" in note for note in diagnosis.check.notes) is (len(expected) == 1)


@pytest.mark.slow
def test_a_generator_that_the_script_seeds_is_no_cause(tmp_path: Path) -> None:
    diagnosis = diagnose(requested(tmp_path, FROM_ADDRESS))
    causes = [cause for found in diagnosis.found for cause in found.causes]
    assert "torch-cpu" not in {cause.source for cause in causes if cause.confirmed}


REFUSES = """
import torch
net = torch.nn.Linear(2, 1)
torch.nn.init.zeros_(net.weight), torch.nn.init.zeros_(net.bias)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(3):
    if torch._C._len_torch_dispatch_stack():
        raise RuntimeError("not under a dispatch mode")
    optimizer.zero_grad()
    net(torch.ones(3, 2)).sub(1).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_a_program_that_refuses_dispatch_modes_is_recorded_step_by_step(tmp_path: Path) -> None:
    result = checked(tmp_path, REFUSES)
    assert (result.verdict, result.steps) == ("same", 3)
    assert any("failed while every operation" in note for note in result.notes)
