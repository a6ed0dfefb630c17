"""A cause without a record that has its line is put where the code tells it, or nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from sources.mending import Program

from samerun.explaining.cause import Cause
from samerun.explaining.locate import locate_cause


def where(folder: Path, source: str, text: str) -> str | None:
    return locate_cause(Program(folder, text).difference(), Cause(source, True, "", ""), folder)


def test_where_an_edit_changes_the_code(tmp_path: Path) -> None:
    made = "import torch\nx = torch.Tensor(3)\ny = x + 1\n"
    assert where(tmp_path, "uninitialized-memory", made) == "train.py:2"
    assert where(tmp_path, "torch-cpu", made) is None  # a line more, which changes none


def test_nowhere_when_no_edit_mends_it(tmp_path: Path) -> None:
    assert where(tmp_path, "uninitialized-memory", "import torch\nx = torch.zeros(3)\n") is None


@pytest.mark.parametrize(
    "source, text, line",
    [
        ("python-random", "import random\nstate = random.getstate()\nflip = random.random() < 0.5\n", 3),
        ("python-random", "from random import choice\nx = choice([1, 2])\n", 2),
        ("numpy-global", "import numpy as np\nrng = np.random.default_rng(0)\nx = np.random.rand(3)\n", 3),
        ("python-random", "import random\na = random.random()\nb = random.random()\n", None),  # either
        ("python-random", "import random\nrng = random.Random(0)\nx = rng.random()\n", None),
    ],
)
def test_the_one_line_that_draws(tmp_path: Path, source: str, text: str, line: int | None) -> None:
    assert where(tmp_path, source, text) == (None if line is None else f"train.py:{line}")
