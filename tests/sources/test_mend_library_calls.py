"""Where a study of Optuna and a stream of `datasets` get a seed, and where they are left alone.

Covers `edits/library_calls.py`.
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
        "sampler=optuna.samplers.RandomSampler(3)",
        "sampler=optuna.samplers.RandomSampler(seed=None)",
        "sampler=optuna.samplers.RandomSampler(), storage='sqlite:///study.db'",
        "directions=['minimize', 'minimize']",  # it would have had another sampler
        "storage='sqlite:///study.db', load_if_exists=True",  # others may share it
        "**settings",
    ],
)
def test_it_is_left_alone(tmp_path: Path, given: str) -> None:
    program = Program(tmp_path, TEXT.format(given))
    made = equal("unseeded", "numpy-generator", program.at("trial.suggest_int"), process="rank0")
    assert "give that a seed" in program.patch("numpy-generator", made).cannot["numpy-generator"]


@pytest.mark.parametrize(
    ("sampler", "seeded"),
    [("RandomSampler()", "RandomSampler(seed=0)"), ("TPESampler(n_ei=3)", "TPESampler(n_ei=3, seed=0)")],
)
def test_a_sampler_that_is_made_without_a_seed_gets_one(tmp_path: Path, sampler: str, seeded: str) -> None:
    program = Program(tmp_path, TEXT.format(f"sampler=optuna.samplers.{sampler}"))
    made = equal("unseeded", "numpy-generator", program.at("trial.suggest_int"), process="rank0")
    line = f"+study = optuna.create_study(sampler=optuna.samplers.{seeded})"
    assert program.mended("numpy-generator", made).splitlines()[1] == line


def test_what_no_trial_drew_from_is_no_study(tmp_path: Path) -> None:
    program = Program(tmp_path, f"import numpy as np\n{TEXT.format('')}rng = np.random.default_rng()\n")
    made = equal("unseeded", "numpy-generator", program.at("default_rng"), process="rank0")
    assert SEEDED not in program.mended("numpy-generator", made)


STREAM = "from datasets import load_dataset\nstream = load_dataset('a', streaming=True)\n"


@pytest.mark.parametrize(
    ("line", "seeded"),
    [
        ("stream = stream.shuffle(buffer_size=64)", "stream = stream.shuffle(buffer_size=64, seed=0)"),
        ("stream = stream.shuffle().take(3)", "stream = stream.shuffle(seed=0).take(3)"),
    ],
)
def test_a_shuffled_stream_gets_a_seed(tmp_path: Path, line: str, seeded: str) -> None:
    program = Program(tmp_path, STREAM + line + "\n")
    made = equal("unseeded", "numpy-generator", program.at("shuffle"), process="rank0")
    assert program.mended("numpy-generator", made) == f"-{line}\n+{seeded}"


@pytest.mark.parametrize(
    "text",
    [
        f"{STREAM}stream = stream.shuffle(seed=None)\n",
        f"{STREAM}env.np_random.shuffle(order)\n",
        "stream = stream.shuffle(buffer_size=64)\n",  # of nobody knows which library
    ],
)
def test_other_shuffles_are_left_alone(tmp_path: Path, text: str) -> None:
    program = Program(tmp_path, text)
    made = equal("unseeded", "numpy-generator", program.at("shuffle"), process="rank0")
    assert "give that a seed" in program.refused("numpy-generator", made)


@pytest.mark.parametrize("again", [True, False])
def test_a_stream_that_is_shuffled_in_each_epoch_has_another_order_in_each(
    tmp_path: Path, again: bool
) -> None:
    program = Program(
        tmp_path, f"import torch\n{STREAM}for epoch in range(3):\n    order = stream.shuffle(buffer_size=9)\n"
    )
    made = equal("unseeded", "numpy-generator", program.at("shuffle"), process="rank0")
    seeded = equal("seed", "torch.manual_seed", "train.py:1")
    changed = program.mended("numpy-generator", seeded, *([made] * (1 + again)))
    assert changed.endswith(
        "+    order = stream.shuffle(buffer_size=9, seed=torch.randint(2**31, ()).item())"
    )


SEVERAL = """\
import optuna
import torch
for fold in range(3):
    study = optuna.create_study(GIVEN)
    study.optimize(lambda trial: trial.suggest_int("n", 1, 3), n_trials=4)
"""


@pytest.mark.parametrize(
    ("given", "kind"), [("sampler=optuna.samplers.RandomSampler()", "RandomSampler"), ("", "TPESampler")]
)
def test_samplers_of_several_studies_do_not_all_try_the_same(tmp_path: Path, given: str, kind: str) -> None:
    program = Program(tmp_path, SEVERAL.replace("GIVEN", given))
    made = equal("unseeded", "numpy-generator", program.at("suggest_int"), process="rank0")
    changed = program.mended("numpy-generator", made)
    assert f"{kind}(seed=torch.randint(2**31, ()).item())" in changed
