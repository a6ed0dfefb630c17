"""Two generators that had seeds of their own do not get the same one.

Covers `distinct_seeds.py`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sources.mending import Program, differing, equal

from samerun.editing.edit import Change
from samerun.editing.user_program import Code
from samerun.explaining.cause import Cause
from samerun.explaining.distinct_seeds import give_distinct_seeds
from samerun.explaining.patch import patch

RANK = 'int(os.environ.get("RANK", 0))'
TWO = """
    import numpy as np, random, torch
    one = {0}
    two = {0}
"""
MADE = {
    "np.random.default_rng()": ("numpy-generator", "np.random.default_rng({})"),
    "np.random.RandomState()": ("numpy-generator", "np.random.RandomState({})"),
    "random.Random()": ("os-entropy", "random.Random({})"),
    "torch.Generator().seed()": ("torch-cpu", "torch.Generator().manual_seed({}).initial_seed()"),
}


def unseeded(program: Program, source: str, *marks: str) -> list:
    name = "torch-cpu:generator" if source == "torch-cpu" else source
    return [equal("unseeded", name, program.at(mark)) for mark in marks]


@pytest.mark.parametrize("made", MADE)
def test_two_lines_get_two_seeds(tmp_path: Path, made: str) -> None:
    source, with_seed = MADE[made]
    program = Program(tmp_path, TWO.format(made))
    made_patch = program.patch(source, *unseeded(program, source, "one", "two"))
    text = made_patch.files["train.py"]
    first = "torch.manual_seed(0)" in text  # which is of the same kind
    assert f"one = {with_seed.format(first + 0)}" in text and f"two = {with_seed.format(first + 1)}" in text


def test_a_number_that_the_script_gives_to_another_one_is_passed_over(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import numpy as np
        split, names = np.random.default_rng(0), np.random.RandomState(2)
        noise = np.random.default_rng()
        """,
    )
    text = program.patch("numpy-generator", *unseeded(program, "numpy-generator", "noise")).files["train.py"]
    assert "noise = np.random.default_rng(1)" in text


def test_so_is_one_that_a_variable_may_have(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import numpy as np
        SEED, START = 0, 1
        SEED = 0
        split = np.random.default_rng(SEED)
        noise = np.random.default_rng()
        """,
    )
    text = program.patch("numpy-generator", *unseeded(program, "numpy-generator", "noise")).files["train.py"]
    assert "noise = np.random.default_rng(1)" in text


def test_the_global_generator_counts(tmp_path: Path) -> None:
    """Else the noise would be the numbers that the weights were made of."""
    program = Program(
        tmp_path,
        """
        import torch
        torch.manual_seed(0)
        g = torch.Generator()
        g.seed()
        """,
    )
    rows = [*unseeded(program, "torch-cpu", "g.seed"), equal("seed", "torch.manual_seed", "train.py:2")]
    assert "g.manual_seed(1)" in program.patch("torch-cpu", *rows).files["train.py"]


def test_each_is_made_of_the_seed_that_the_program_is_given(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import argparse, numpy as np, torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--seed", type=int, default=0)
        args = parser.parse_args()
        torch.manual_seed(args.seed)
        one = np.random.default_rng()
        two = np.random.default_rng()
        """,
    )
    rows = [*unseeded(program, "numpy-generator", "one", "two")]
    rows.append(equal("seed", "torch.manual_seed", program.at("torch.manual_seed")))
    text = program.patch("numpy-generator", *rows).files["train.py"]
    assert "one = np.random.default_rng(args.seed)" in text
    assert "two = np.random.default_rng(args.seed + 1)" in text


def test_what_both_lines_had_in_common_they_have_on(tmp_path: Path) -> None:
    """The number of the process is one."""
    program = Program(
        tmp_path,
        """
        import numpy as np, os
        one = np.random.default_rng(os.getpid())
        two = np.random.default_rng(os.getpid())
        """,
    )
    rows = [equal("identity", "os.getpid", program.at(mark)) for mark in ("one", "two")]
    rows += [differing("seed", "np.random.default_rng", program.at(mark)) for mark in ("one", "two")]
    text = program.patch("process-id", *rows, site=program.at("one")).files["train.py"]
    assert text.count("default_rng(0)") == 2


@pytest.mark.parametrize(("seeds", "base"), [("", 0), ("if rank == 0:\n    torch.manual_seed(1)\n", 1000)])
def test_on_ranks_the_global_generator_counts_too(tmp_path: Path, seeds: str, base: int) -> None:
    text = f"import os, torch\n{seeds}net = torch.nn.Linear(2, 2)\ng = torch.Generator()\ng.seed()\n"
    program = Program(tmp_path, text)
    difference = program.difference(*unseeded(program, "torch-cpu", "g.seed"))
    side = replace(difference.a, variables={"RANK": "digest"})
    made = patch([(replace(difference, a=side), Cause("torch-cpu", True, "", ""))], tmp_path)
    assert made is not None
    new = made.files["train.py"]
    of_all = f"torch.manual_seed({base} + {RANK})" if base else f"torch.manual_seed({RANK})"
    own = f"g.manual_seed({RANK})" if base else f"g.manual_seed(1000 + {RANK})"
    assert of_all in new and own in new


def test_the_name_of_an_argument_is_not_the_seed(tmp_path: Path) -> None:
    change = Change("train.py", 0, 0, "env.reset(seed=seed)", given="seed")
    program = Program(tmp_path, "import gymnasium\nother.reset(seed=seed)\n")
    code = Code(tmp_path, ("python", "train.py"), {"train.py": ""})
    assert program.files
    apart = give_distinct_seeds({"numpy-generator": [change]}, code)
    assert [edit.text for edit in apart["numpy-generator"]] == ["env.reset(seed=seed + 1)"]
