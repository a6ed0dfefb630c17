"""Covers `patching/seeding_calls.py`."""

import timeit

import numpy as np
import pytest

from samerun.runs.plan import Control
from samerun.sources import numpy_global
from samerun.sources.numpy_global import NumpyGlobal

from .differences import ONE, TWO, batch, row, side

source = NumpyGlobal()


@pytest.fixture(autouse=True)
def as_before():
    state = np.random.get_state()
    yield
    np.random.set_state(state)


def test_control_repeats_and_is_pinned():
    drawn = []
    for seed in (1, 1, 2):
        undo = source.control(Control(seed=seed))
        drawn.append(np.random.rand())
        undo()
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == 0.06654126239951497


def test_control_makes_seeding_without_a_seed_repeat():
    drawn = []
    for _ in range(2):
        undo = source.control(Control(seed=1))
        np.random.seed()
        drawn.append(np.random.rand())
        np.random.seed(None)
        drawn.append(np.random.rand())
        undo()
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]


def test_the_users_own_seed_wins():
    undo = source.control(Control(seed=1))
    np.random.seed(3)
    assert np.random.rand() == np.random.RandomState(3).rand()
    undo()


def test_undo_restores_state_and_function():
    np.random.randn()
    before = str(np.random.get_state()), np.random.seed
    undo = source.control(Control(seed=1))
    np.random.randn()
    undo()
    assert (str(np.random.get_state()), np.random.seed) == before


def test_the_digest_follows_every_draw_and_nothing_else():
    np.random.seed(1)
    first = source.digest()
    assert source.digest() == first
    np.random.randn()  # draws, and keeps a spare
    second = source.digest()
    np.random.randn()  # uses the spare: key and position stay
    third = source.digest()
    np.random.rand()
    assert len({first, second, third, source.digest()}) == 4
    np.random.seed(1)
    assert source.digest() == first


def test_reading_in_place_was_verified_and_agrees_with_get_state():
    assert numpy_global._find_gauss_offset() is not None
    np.random.seed(5)
    np.random.randn()
    state = np.random.get_state(legacy=False)
    reader = numpy_global._Reader(np.random.mtrand._rand, np.random.mtrand._rand._bit_generator)
    assert reader._flag.value == state["has_gauss"] == 1
    assert reader._gauss.value == state["gauss"]
    words = np.frombuffer(reader._words, dtype=np.uint32)
    assert words[:624].tolist() == state["state"]["key"].tolist()
    assert words[624] == state["state"]["pos"]


def test_without_a_verified_layout_the_state_is_still_digested(monkeypatch):
    monkeypatch.setattr(numpy_global, "_find_gauss_offset", lambda: None)
    reader = numpy_global._Reader(np.random.mtrand._rand, np.random.mtrand._rand._bit_generator)
    first = reader()
    assert reader() == first
    np.random.rand()
    assert reader() != first


def test_a_bit_generator_of_the_users_own_is_followed():
    mine = np.random.PCG64(3)
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(mine)
    try:
        first = source.digest()
        state = source.capture()
        drawn = np.random.rand()
        assert source.digest() != first
        source.restore(state)
        assert source.digest() == first and np.random.rand() == drawn
    finally:
        np.random.set_bit_generator(before)


@pytest.mark.slow  # it reads the clock: a busy machine makes it fail
def test_the_digest_is_fast():
    assert min(timeit.repeat(source.digest, number=500, repeat=9)) / 500 < 8e-6  # measured: 0.5 µs


def test_capture_and_restore():
    np.random.randn()
    state = source.capture()
    drawn = np.random.randn(), np.random.rand()
    source.restore(state)
    assert (np.random.randn(), np.random.rand()) == drawn


def test_observing_notes_seeds_and_their_lines(observed):
    notes = observed(source)
    np.random.seed(3)
    np.random.seed([1, 2])
    np.random.seed()
    assert [note.value for note in notes.of("seed", "np.random.seed")] == [3.0, None]
    (unseeded,) = notes.of("unseeded", "numpy-global")
    assert unseeded.call_site.startswith("tests/sources/test_numpy_global.py:")


def test_recognises_what_was_drawn_from_and_no_other():
    assert (
        source.recognise(batch(rng_first={"numpy-global": 0}, drawn=frozenset({"numpy-global"}))).strength
        == 0.7
    )
    assert source.recognise(batch(rng_first={"numpy-global": 0})) is None
    assert source.recognise(batch(rng_first={"python-random": 0}, drawn=frozenset({"python-random"}))) is None


def test_recognises_what_a_helping_program_drew():
    def helped(digest, process="rank0.helper-12345678"):
        return side(row("draw", "numpy-global", call_site="prepare.py:5", process=process, digest=digest))

    found = source.recognise(batch(a=helped(ONE), b=helped(TWO)))
    assert (found.strength, found.call_site) == (0.7, "prepare.py:5")
    assert source.recognise(batch(a=helped(ONE), b=helped(ONE))) is None
    workers = "rank0.worker0"
    assert source.recognise(batch(a=helped(ONE, workers), b=helped(TWO, workers))) is None
