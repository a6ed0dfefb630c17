"""Which generators were drawn from, and how they were left."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import numpy as np
import pytest

from samerun.integrations.pytest_plugin.generator_states import GeneratorStates


def draw_python() -> None:
    random.random()


def draw_numpy() -> None:
    np.random.normal()


@pytest.mark.parametrize(
    ("draw", "seed", "id_"),
    [(draw_python, random.seed, "python-random"), (draw_numpy, np.random.seed, "numpy-global")],
)
def test_a_draw_from_a_global_generator_is_seen_and_stands_for_its_values(draw, seed, id_: str) -> None:
    def drawn(number: int) -> dict[str, str]:
        seed(1)
        states = GeneratorStates()
        seed(number)
        draw()
        return states.find_drawn()

    assert list(drawn(2)) == [id_]
    assert drawn(2) == drawn(2) != drawn(3)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_draw_from_a_numpy_generator_that_was_there_is_seen(make) -> None:
    def drawn(number: int) -> dict[str, str]:
        used, unused = make(number), make(0)
        states = GeneratorStates()
        used.normal(size=3)
        assert unused is not None
        return states.find_drawn()

    assert list(drawn(2)) == ["numpy-generator"]
    assert drawn(2) == drawn(2) != drawn(3)


LATE = """
import json, sys
from samerun.integrations.pytest_plugin.generator_states import GeneratorStates
{before}
states = GeneratorStates()
import numpy
{body}
print(json.dumps(list(states.find_drawn())))
"""


@pytest.mark.parametrize("before", ["", "import numpy"])
@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("numpy.random.rand()", ["numpy-global"]),
        ("numpy.random.seed(1); numpy.random.standard_normal()", ["numpy-global"]),
        ("numpy.random.get_state()", []),
        ("", []),
    ],
)
def test_a_generator_that_the_test_is_the_first_to_ask_for(before: str, body: str, seen: list[str]) -> None:
    """NumPy makes its global one when it is asked for: there is no state of before to compare with."""
    code = LATE.format(before=before, body=body)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == seen


def test_nothing_is_seen_where_nothing_was_drawn() -> None:
    made = np.random.default_rng()
    assert GeneratorStates().find_drawn() == {}
    assert made is not None
