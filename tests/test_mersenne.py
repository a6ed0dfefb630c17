from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from samerun.mersenne import LIBRARIES, WORDS, fill, torch_generator
from samerun.sources import _generators


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
    assert [draws() for _ in _generators.seeded_with_each(seeds)] == alone


def test_the_way_through_setstate_gives_the_same() -> None:
    _generators.seed_all(3)
    expected = draws()
    seeder = _generators._Seeder()
    seeder._python = None
    seeder._find(np.random.mtrand._rand)
    seeder._numpy = None
    next(seeder.each((3,)))
    assert draws() == expected


def test_fast_ways_are_the_ones_taken_here() -> None:
    _generators.seed_all(3)
    assert _generators._seeder()._python is not None
    assert _generators._seeder()._numpy is not None


def test_a_generator_of_torch_alone() -> None:
    _generators.seed_all(5)
    generator = torch_generator(5)
    assert torch.equal(torch.rand(700), torch.rand(700, generator=generator))
    assert generator.initial_seed() == 5


def test_pinned() -> None:
    """A change of these numbers changes every keyed sample: a breaking change, with a decision record."""
    words = fill(np.array([1, 2**64 - 1], np.uint64), np.empty((2, len(LIBRARIES), WORDS), np.uint64))
    assert words[:, :, [0, 623]].tolist() == [
        [[2736188465, 574450184], [3978127958, 1373028681], [2765564208, 384187288]],
        [[1558778830, 2616696253], [316839337, 3622832696], [1529403087, 202798298]],
    ]
