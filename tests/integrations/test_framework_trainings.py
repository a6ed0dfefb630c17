"""Real trainings with real frameworks, killed and resumed from the frameworks' own checkpoints.

Of `lightning.py`, `transformers.py`, `accelerate.py`, `ignite.py`, `skorch.py` and `mmengine.py`;
`make frameworks` installs the frameworks.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from integrations import framework_trainings as trainings

SCRIPT = Path(trainings.__file__)
AT_EPOCHS = {"skorch", "mmengine_epochs"}  # what saves, or resumes, at the ends of epochs alone
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize(
        "name",
        [
            pytest.param(
                name,
                marks=pytest.mark.skipif(
                    importlib.util.find_spec(package) is None,
                    reason=f"{package} is not installed; `make frameworks` installs it",
                ),
            )
            for name, (package, _) in trainings.TRAININGS.items()
        ],
    ),
]


def start(name: str, folder: Path, options: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), name, str(folder), json.dumps(options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def read(done: subprocess.CompletedProcess[str]) -> Any:
    lines = [line for line in done.stdout.splitlines() if line.startswith("TRAINED ")]
    assert done.returncode == 0 and len(lines) == 1, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(lines[0].removeprefix("TRAINED "))


@functools.cache
def train_once(name: str, options: str) -> Any:
    """A training from the start; the tests share what it gives."""
    with tempfile.TemporaryDirectory() as folder:
        return read(start(name, Path(folder), json.loads(options)))


def train(name: str, **options: Any) -> Any:
    return train_once(name, json.dumps(options))


def test_logging_alone_leaves_the_training_as_it_is(name: str) -> None:
    logged = train(name, samerun="log")
    assert logged["weights"] == train(name)["weights"]
    assert len(logged["digests"]) == trainings.STEPS
    assert len({tuple(digest) for digest in logged["digests"]}) == trainings.STEPS


def test_two_runs_are_equal_and_one_changed_bit_shows_at_once(name: str) -> None:
    first = train(name, samerun=0)
    with tempfile.TemporaryDirectory() as folder:
        assert read(start(name, Path(folder), {"samerun": 0})) == first
    other = train(name, samerun=0, flip=True)
    assert other["digests"][0] != first["digests"][0] and other["weights"] != first["weights"]


def resume(name: str, folder: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    killed = start(name, folder, {**options, "kill_at": 9})
    assert killed.returncode == 9, killed.stdout[-3000:] + killed.stderr[-3000:]
    return start(name, folder, options)


def test_a_resume_at_the_end_of_an_epoch_is_exact(name: str, tmp_path: Path) -> None:
    options = {"samerun": 0, "workers": 2}
    whole, resumed = train(name, **options), read(resume(name, tmp_path, **options))
    assert resumed["weights"] == whole["weights"]
    assert resumed["digests"][-1] == whole["digests"][-1]


def test_a_resume_in_the_middle_of_an_epoch_is_exact(name: str, tmp_path: Path) -> None:
    if name in AT_EPOCHS:
        pytest.skip("saves or resumes at the ends of epochs alone")
    options = {"samerun": 0, "workers": 2, "loader": "samerun", "save": 4}
    whole, resumed = train(name, **options), read(resume(name, tmp_path, **options))
    assert resumed["weights"] == whole["weights"]
    assert resumed["digests"][-1] == whole["digests"][-1]


def test_where_it_cannot_be_exact_it_is_refused(name: str, tmp_path: Path) -> None:
    if name in ("skorch", "mmengine_iterations"):
        pytest.skip("skorch saves at the end of an epoch; IterBasedTrainLoop loads the batches again")
    done = resume(name, tmp_path, samerun=0, save=4)
    assert done.returncode == 1
    assert "samerun.errors.StateError: this checkpoint cannot be resumed exactly" in done.stderr


def test_gradients_that_are_accumulated_are_in_no_checkpoint(name: str, tmp_path: Path) -> None:
    if name not in ("accelerate", "lightning"):
        pytest.skip("the others do not say whether a step is complete: nothing is refused there")
    options = {"samerun": 0, "loader": "samerun", "accumulate": 2}
    whole = train(name, **options, save=2)
    assert read(resume(name, tmp_path / "after", **options, save=2))["weights"] == whole["weights"]
    done = resume(name, tmp_path / "between", **options, save=3)
    assert done.returncode == 1 and "between two batches whose gradients are accumulated" in done.stderr


def test_a_loader_without_a_length_is_refused_where_its_position_would_be_lost(
    name: str, tmp_path: Path
) -> None:
    if name not in ("lightning", "transformers"):
        pytest.skip("Lightning fetches ahead, the Trainer counts by the length; the others do neither")
    options = {"samerun": 0, "loader": "samerun", "length": False}
    done = resume(name, tmp_path / "middle", **options, save=4)
    assert done.returncode == 1 and "without a length" in done.stderr
    if name == "lightning":
        resumed = read(resume(name, tmp_path / "end", **options))
        assert resumed["weights"] == train(name, **options)["weights"]
