"""Where an environment of Gymnasium's is seeded, and where it is left alone.

Covers `edits/environments.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.runs.difference import Row

from .mending import Program, equal

# (what makes an environment, what draws from it): the line that seeds it
SEEDED = {
    ("gym.make('CartPole-v1')", "s, _ = env.reset()"): "env.reset(seed=0)",
    ("gym.make('CartPole-v1')", "s, _ = env.reset(options={})"): "env.reset(seed=0)",
    ("gym.make('CartPole-v1')", "a = env.action_space.sample()"): "env.action_space.seed(0)",
    ("Monitor(gym.make('CartPole-v1'))", "s, _ = env.reset()"): "env.reset(seed=0)",
    ("make_vec('CartPole-v1', 4)", "s, _ = env.reset()"): "env.reset(seed=0)",
}


def unseeded(program: Program, words: str, process: str = "rank0") -> Row:
    return equal("unseeded", "numpy-generator", program.at(words), process=process)


@pytest.mark.parametrize(("made", "drawn"), SEEDED)
def test_it_is_seeded_once_where_it_is_made(tmp_path: Path, made: str, drawn: str) -> None:
    text = f"""\
import gymnasium as gym
from gymnasium import make_vec
env = {made}
for _ in range(9):
    {drawn}
"""
    program = Program(tmp_path, text)
    rows = [unseeded(program, drawn)] * (4 if "make_vec" in made else 1)
    assert program.mended("numpy-generator", *rows) == f"+{SEEDED[made, drawn]}"
    diff = program.patch("numpy-generator", *rows).diff
    assert f" env = {made}\n+{SEEDED[made, drawn]}\n for _" in diff


def test_it_is_seeded_in_a_function_that_is_called_once(tmp_path: Path) -> None:
    text = "import gym\ndef main():\n    env = gym.make('A')\n    env.reset()\nif True:\n    main()\n"
    program = Program(tmp_path, text)
    assert program.mended("numpy-generator", unseeded(program, "env.reset")) == "+    env.reset(seed=0)"


@pytest.mark.parametrize(
    ("own", "seeded"), [("if __name__ == '__main__':\n    evaluate()\n", True), ("evaluate()\n", False)]
)
def test_what_an_imported_file_does_as_a_program_of_its_own_did_not_run(
    tmp_path: Path, own: str, seeded: bool
) -> None:
    text = f"import gym\ndef evaluate():\n    env = gym.make('A')\n    env.reset()\n{own}"
    program = Program(tmp_path, "from evals import evaluate\nevaluate()\n", {"evals.py": text})
    row = equal("unseeded", "numpy-generator", program.at("env.reset", "evals.py"), process="rank0")
    if seeded:
        assert program.mended("numpy-generator", row, path="evals.py") == "+    env.reset(seed=0)"
    else:
        assert program.refused("numpy-generator", row)


def test_it_is_seeded_after_it_is_wrapped(tmp_path: Path) -> None:
    program = Program(
        tmp_path, "import gym\nenv = gym.make('A')\nenv = Monitor(env)\nother = 1\nenv.reset()\n"
    )
    diff = program.patch("numpy-generator", unseeded(program, "env.reset")).diff
    assert " env = Monitor(env)\n+env.reset(seed=0)\n other = 1\n" in diff


@pytest.mark.parametrize(
    "text",
    [
        "for _ in range(3):\n    env = gym.make('A')\n    env.reset()\n",  # all would begin alike
        "def run():\n    env = gym.make('A')\n    env.reset()\nrun()\nrun()\n",
        "def run():\n    env = gym.make('A')\n    env.reset()\nfor _ in range(2):\n    run()\n",
        "def run():\n    env = gym.make('A')\n    env.reset()\nProcess(target=run).start()\n",
        "class Agent:\n    def __init__(self):\n        self.env = gym.make('A')\n        self.env.reset()\n",
        "import torch.distributed as dist\nenv = gym.make('A')\nenv.reset()\n",  # on each rank
        "env = make()\nenv.reset()\n",  # nobody knows what it is
        "env = gym.make('A')\nenv.reset(seed=None)\n",
        "env = gym.make('A')\nenv.step(0)\n",
    ],
)
def test_others_are_left_alone(tmp_path: Path, text: str) -> None:
    program = Program(tmp_path, f"import gym\n{text}")
    assert program.refused("numpy-generator", unseeded(program, "env." if "step" in text else "reset"))


def test_those_of_several_processes_or_instances_are_left_alone(tmp_path: Path) -> None:
    program = Program(tmp_path, "import gym\nenv = gym.make('A')\nenv.reset()\n")
    row = unseeded(program, "env.reset")
    for other in (unseeded(program, "env.reset", "rank1"), row):
        assert program.refused("numpy-generator", row, other)


def test_the_seed_that_the_program_is_given_seeds_the_environment(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import argparse, gymnasium as gym, torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--seed", type=int, default=1)
        args = parser.parse_args()
        env = gym.make("A")
        torch.manual_seed(args.seed)
        env.reset()
        """,
    )
    assert program.mended("numpy-generator", unseeded(program, "env.reset")) == "+env.reset(seed=args.seed)"
