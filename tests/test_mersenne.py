from __future__ import annotations

import ctypes
import random
from typing import Any

import numpy as np
import pytest
import torch

from samerun.mersenne import FOR_ZERO, LIBRARIES, WORDS, Words, make_torch_generator
from samerun.sources.per_sample import seeder as _generators
from samerun.sources.per_sample import state_memory


def draws() -> list[float]:
    """More than the words that are handed out before the first twist, with half of a pair of normals."""
    return [
        *(random.random() for _ in range(100)),
        random.gauss(0, 1),
        *np.random.rand(100),
        np.random.randn(),
        *torch.rand(200).tolist(),
        *torch.randn(3).tolist(),
    ]


@pytest.fixture(autouse=True)
def isolated():
    before = _generators.capture()
    yield
    _generators.restore(before)


def test_a_seed_is_a_start() -> None:
    _generators.seed_all(7)
    first = draws()
    assert torch.initial_seed() == 7
    _generators.seed_all(7)
    assert draws() == first
    _generators.seed_all(8)
    assert not set(draws()) & set(first)


def test_all_64_bits_count() -> None:
    """torch's own seeding takes the low 32 alone, which is why there is one of ours."""
    plain = [torch.rand(2, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1 + 2**32)]
    assert torch.equal(*plain), "torch takes all bits now: samerun.mersenne may go"
    found = set()
    for bit in range(64):
        _generators.seed_all(1 ^ (1 << bit))
        found |= {random.random(), np.random.rand(), torch.rand(1).item()}
    assert len(found) == 3 * 64


def test_zero_is_a_seed_like_any_other() -> None:
    _generators.seed_all(0)
    drawn = draws()[:100]
    assert 0.4 < sum(drawn) / 100 < 0.6
    assert len(set(drawn)) == 100


def test_one_by_one_or_many_together() -> None:
    seeds = [stream_seed * 0x9E3779B97F4A7C15 % 2**64 for stream_seed in range(70)]
    alone = []
    for seed in seeds:
        _generators.seed_all(seed)
        alone.append(draws())
    assert [draws() for _ in _generators.seed_with_each(seeds)] == alone


WAYS = {
    "python": lambda seeder: vars(seeder).update(_python=state_memory.write_through_python()),
    "numpy": lambda seeder: vars(seeder).update(
        _numpy=state_memory.write_through_numpy(np.random.mtrand._rand)
    ),
    "torch": lambda seeder: vars(seeder).update(
        _torch=state_memory.write_through_torch(torch.default_generator)
    ),
}


@pytest.mark.parametrize("slow", WAYS.values(), ids=WAYS)
def test_the_way_through_setstate_gives_the_same(slow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _generators.seed_all(3)
    expected = draws()
    between = _generators.capture()
    went_on = draws()
    seeder = _generators._Seeder()
    seeder.numpy(np.random.mtrand)
    slow(seeder)
    monkeypatch.setattr(_generators, "_get_seeder", lambda: seeder)
    _generators.seed_all(3)
    assert draws() == expected
    kept = _generators.capture()
    assert draws() == went_on
    _generators.restore(kept)
    assert draws() == went_on
    _generators.restore(between)
    assert draws() == went_on


def test_fast_ways_are_the_ones_taken_here() -> None:
    places = _generators._get_seeder().places()
    assert [type(place) for place in places] == [state_memory.Memory] * 4


def test_what_is_written_is_what_the_generators_say() -> None:
    """Every word, the position, no second of a pair of normals, torch's seed."""
    for _ in range(2):
        random.gauss(0, 1), np.random.randn(), torch.randn(1)
        _generators.seed_all(9)
        words = Words(np.empty((1, len(LIBRARIES), WORDS // 2), np.uint64))
        words.make([9])
        pythons, numpys, torchs = words.words[0].tolist()
        assert random.getstate() == (3, (*pythons, 560), None)
        _, key, *rest = np.random.get_state()
        assert (key.tolist(), rest) == (numpys, [560, 0, 0.0])
        assert torch.equal(torch.get_rng_state(), make_torch_generator(9).get_state())
        raw = torch.get_rng_state().numpy()
        assert raw[24 : 24 + 8 * WORDS].view(np.uint64).tolist() == torchs
        assert not raw[24 + 8 * WORDS :].any()


def test_a_memory_where_something_else_lies_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(address: int, size: int) -> bytes:
        there = real(address, size)
        return bytes(byte ^ 1 for byte in there[:8]) + there[8:]

    real = ctypes.string_at
    assert state_memory._find_torch_engine() is not None
    monkeypatch.setattr(ctypes, "string_at", moved)
    legacy = np.random.mtrand._rand
    found = [
        state_memory.find_python(),
        *state_memory.find_numpy(legacy),
        state_memory.find_torch(torch.default_generator),
    ]
    assert [type(place) for place in found] == [state_memory.Through] * 4
    assert state_memory._find_torch_engine.__wrapped__() is None


def test_numpys_other_bits_are_noticed() -> None:
    if not hasattr(np.random, "set_bit_generator"):
        pytest.skip("numpy < 1.24")
    _generators.seed_all(3)
    expected = draws()
    own = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(np.random.MT19937(1))
        _generators.seed_all(3)
        assert draws() == expected
    finally:
        np.random.set_bit_generator(own)


def test_a_generator_of_torch_alone() -> None:
    _generators.seed_all(5)
    generator = make_torch_generator(5)
    assert torch.equal(torch.rand(700), torch.rand(700, generator=generator))
    assert generator.initial_seed() == 5


PINNED = [  # seeds 1, 2**64 - 1 and 0; python, NumPy, torch; words 0, 1, 560 and 623
    [
        [4275190940, 2736188465, 3735465013, 2384773275],
        [175112493, 2665496814, 247627761, 3014018228],
        [451053447, 3978127958, 2418011309, 1478638862],
    ],
    [
        [4275190941, 1558778830, 617582482, 1979971425],
        [175112492, 1629470481, 3017611734, 4044185418],
        [451053446, 316839337, 2111838530, 2503329768],
    ],
    [
        [2401268694, 2753206759, 4008793938, 1318105703],
        [28364346, 3468498629, 1530292846, 792424076],
        [1723898725, 3663275328, 3117864229, 3001312090],
    ],
]


def test_pinned() -> None:
    """A change of these numbers changes every keyed sample: a breaking change, with a decision record."""
    words = Words(np.empty((4, len(LIBRARIES), WORDS // 2), np.uint64))
    words.make([1, 2**64 - 1, 0])
    assert words.seeds[:3].tolist() == [1, 2**64 - 1, FOR_ZERO]
    assert words.words[:3, :, [0, 1, 560, 623]].tolist() == PINNED
