"""Where a study of Optuna gets a sampler with a seed, and where it is left alone.

Covers `edits/studies.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .mending import Program, equal

TEXT = """\
import optuna
def objective(trial):
    n = trial.suggest_int("n", 1, 3)
    return n
study = optuna.create_study({})
study.optimize(objective, n_trials=4)
"""
SEEDED = "sampler=optuna.samplers.TPESampler(seed=0)"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("", f"+study = optuna.create_study({SEEDED})"),
        ("direction='maximize'", f"+study = optuna.create_study(direction='maximize', {SEEDED})"),
    ],
)
@pytest.mark.parametrize("drawn", ["trial.suggest_int", "study.optimize"])
def test_it_gets_the_sampler_that_it_would_have_had(
    tmp_path: Path, given: str, line: str, drawn: str
) -> None:
    program = Program(tmp_path, TEXT.format(given))
    made = equal("unseeded", "numpy-generator", program.at(drawn), process="rank0")
    assert program.mended("numpy-generator", made).splitlines()[1] == line


@pytest.mark.parametrize(
    "given",
    [
        "sampler=optuna.samplers.RandomSampler()",  # its seed is the user's to give
        "directions=['minimize', 'minimize']",  # it would have had another sampler
        "storage='sqlite:///study.db', load_if_exists=True",  # others may share it
        "**settings",
    ],
)
def test_it_is_left_alone(tmp_path: Path, given: str) -> None:
    program = Program(tmp_path, TEXT.format(given))
    made = equal("unseeded", "numpy-generator", program.at("trial.suggest_int"), process="rank0")
    assert "give that a seed" in program.patch("numpy-generator", made).cannot["numpy-generator"]


def test_what_no_trial_drew_from_is_no_study(tmp_path: Path) -> None:
    program = Program(tmp_path, f"import numpy as np\n{TEXT.format('')}rng = np.random.default_rng()\n")
    made = equal("unseeded", "numpy-generator", program.at("default_rng"), process="rank0")
    assert SEEDED not in program.mended("numpy-generator", made)
