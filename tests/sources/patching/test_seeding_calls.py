"""Covers `seeding_calls.py`: a seed in the place of the system's is none of the script's."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from samerun.answers import Answers
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.python_random import PythonRandom
from samerun.streams import Stream

SEEDED_BY = {"random.seed": (PythonRandom, random), "np.random.seed": (NumpyGlobal, np.random)}


@pytest.fixture
def states_kept():
    python, legacy = random.getstate(), np.random.get_state()
    yield
    random.setstate(python)
    np.random.set_state(legacy)


@pytest.mark.parametrize("name", SEEDED_BY)
def test_a_kept_seed_is_noted_as_the_system_s(observed, states_kept, tmp_path: Path, name: str) -> None:
    kind, module = SEEDED_BY[name]
    source = kind()
    notes = observed(source)
    undo = source.replay(Answers(str(tmp_path), None, lambda id_: True))
    try:
        module.seed()
        module.seed(None)
        module.seed(7)
    finally:
        undo()
    assert len(notes.of("unseeded", source.id)) == 2
    assert [note.value for note in notes.of("seed", name)] == [7.0]


def test_a_generator_that_samerun_makes_is_no_seed_of_the_script_s(observed) -> None:
    notes = observed(PythonRandom())
    own = Stream(1, "mine").python()
    assert not notes.of("seed", "random.Random")
    random.Random(own.getrandbits(8))
    assert len(notes.of("seed", "random.Random")) == 1
