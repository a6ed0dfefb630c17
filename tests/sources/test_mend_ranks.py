"""Patches of trainings with ranks: what each rank had of its own stays its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from samerun.explaining.cause import Cause
from samerun.explaining.patch import patch

from .mending import Program, differing

RANK = 'int(os.environ.get("RANK", 0))'


def patched(program: Program, source: str, difference, *variables: str) -> str:
    difference = replace(difference, a=replace(difference.a, variables=dict.fromkeys(variables, "digest")))
    made = patch([(difference, Cause(source, True, "", ""))], program.folder)
    assert made is not None
    return made.files["train.py"]


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize(
    ("read", "kind", "source", "of_its_own"),
    [
        ("os.getpid", "identity", "process-id", True),
        ("time.time_ns", "clock", "clock", True),
        ("time.time", "clock", "clock", False),  # ranks that start in one second have the same
    ],
)
def test_a_seed_that_each_rank_had_for_itself_becomes_one_of_its_rank(
    read: str, kind: str, source: str, of_its_own: bool, ranks: bool, tmp_path: Path
) -> None:
    lines = [
        "import os, time",
        "import numpy as np",
        "seed = 3",
        f"rng = np.random.default_rng([seed, {read}()])",
    ]
    program = Program(tmp_path, "\n".join([*lines, ""]))
    at = program.at("default_rng")
    rows = differing(kind, read, at), differing("seed", "np.random.default_rng", at)
    text = patched(program, source, program.difference(*rows), *["RANK"] * ranks)
    assert f"default_rng([seed, {RANK if ranks and of_its_own else 0}])" in text


@pytest.mark.parametrize("ranks", [False, True])
def test_ranks_that_nobody_seeded_are_seeded_by_their_rank(ranks: bool, tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n")
    text = patched(program, "torch-cpu", program.difference(), *["RANK"] * ranks)
    assert (f"torch.manual_seed({RANK})" if ranks else "torch.manual_seed(0)") in text
    assert ("import os" in text) is ranks


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_the_number_is_in_the_variable_that_the_launcher_set(variable: str, tmp_path: Path) -> None:
    """srun and mpirun set no RANK: with its default of 0 all ranks would draw the same."""
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n")
    text = patched(program, "torch-cpu", program.difference(), variable)
    assert f'torch.manual_seed(int(os.environ.get("{variable}", 0)))' in text


def test_torchruns_own_number_comes_first(tmp_path: Path) -> None:
    """torchrun under srun: a node's tasks have one number, their ranks each their own."""
    program = Program(tmp_path, "import torch\nmodel = torch.nn.Linear(2, 2)\n")
    text = patched(program, "torch-cpu", program.difference(), "SLURM_PROCID", "RANK")
    assert f"torch.manual_seed({RANK})" in text
