"""Which generators were drawn from, and how they were left."""

from __future__ import annotations

import random

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


def test_nothing_is_seen_where_nothing_was_drawn() -> None:
    made = np.random.default_rng()
    assert GeneratorStates().find_drawn() == {}
    assert made is not None
