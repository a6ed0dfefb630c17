"""Nothing that should be different is the same (issue: diversity)."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
import samples
import torch

from samerun.data import worker_seed
from samerun.mersenne import LIBRARIES, POSITION, WORDS, Words
from samerun.sources.per_sample import seeder
from samerun.streams import stream, stream_seed

MILLION = 10**6


@pytest.fixture(scope="module")
def seeds() -> Any:
    """A million samples: 10 epochs of 100 000."""
    epochs = [stream(0, "data", epoch, "sample").item_seeds(range(100_000)) for epoch in range(10)]
    return np.array(epochs, np.uint64).ravel()


def test_a_million_streams_have_a_million_seeds(seeds: Any) -> None:
    assert len(np.unique(seeds)) == MILLION


@pytest.mark.slow
def test_a_million_seeds_give_a_million_generators_of_each_library(seeds: Any) -> None:
    """torch's own seeding would give about 116 pairs of them one state (2**32 states for 10**6 seeds)."""
    first = np.empty((MILLION, len(LIBRARIES)), np.uint64)
    words = Words(np.empty((100, len(LIBRARIES), WORDS // 2), np.uint64))
    for begin in range(0, MILLION, 100):
        words.make(seeds[begin : begin + 100].tolist())
        first[begin : begin + 100] = words.words[:, :, POSITION] + (
            words.words[:, :, 0].astype(np.uint64) << 32
        )
    assert len(np.unique(first)) == MILLION * len(LIBRARIES)
    assert len(np.unique(seeds & np.uint64(0xFFFFFFFF))) < MILLION  # what 32 bits would have done


@pytest.fixture(scope="module")
def draws() -> Any:
    """Numbers of 20 000 neighbouring samples, from python, NumPy and torch: (3, 20000, 12).

    The first eight, and four of those that come when the words made for the seed are used up: of python and
    NumPy, which take two words for a number, the 33rd and so on, of torch the 65th.
    """
    before = seeder.capture()
    every = seeder.seed_with_each(stream(7, "data", 3, "sample").item_seeds(range(20_000)))
    drawn = []
    for _ in every:
        pythons = [random.random() for _ in range(36)]
        drawn.append(
            [
                numbers[:8] + numbers[-4:]
                for numbers in (pythons, np.random.rand(36).tolist(), torch.rand(68).tolist())
            ]
        )
    seeder.restore(before)
    return np.array(drawn).transpose(1, 0, 2)


def chi_square_z(values: Any, bins: int = 64) -> float:
    """How far from uniform on [0, 1), in standard deviations (Wilson and Hilferty 1931)."""
    counts = np.histogram(values, bins, (0, 1))[0]
    expected = values.size / bins
    statistic, freedom = float(((counts - expected) ** 2 / expected).sum()), bins - 1
    spread = 2 / (9 * freedom)
    return ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)


def correlation_z(a: Any, b: Any) -> float:
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1]) * math.sqrt(a.size)


@pytest.mark.parametrize("library", range(3), ids=LIBRARIES)
def test_keyed_draws_look_random(draws: Any, library: int) -> None:
    own = draws[library]
    for nth in range(12):  # of neighbouring samples
        assert abs(chi_square_z(own[:, nth])) < 5
        assert abs(correlation_z(own[:-1, nth], own[1:, nth])) < 5
    assert abs(chi_square_z(own)) < 5
    assert abs(correlation_z(own[:, :-1], own[:, 1:])) < 5  # within a sample
    pairs = np.histogram2d(own[:, 0], own[:, 1], 16, [[0, 1], [0, 1]])[0]
    assert abs(chi_square_z((np.repeat(np.arange(256), pairs.ravel().astype(int)) + 0.5) / 256)) < 5


def test_libraries_draw_different_numbers(draws: Any) -> None:
    for a, b in itertools.combinations(range(3), 2):
        assert abs(correlation_z(draws[a], draws[b])) < 5


def test_the_tests_above_can_fail() -> None:
    """seed + index, each generator's first draw: what everybody's arithmetic does."""
    weak = np.array([(seed * 1103515245 + 12345) % 2**31 / 2**31 for seed in range(20_000)])
    assert abs(correlation_z(weak[:-1], weak[1:])) > 5 or abs(chi_square_z(weak)) > 5


@pytest.mark.parametrize("seed", [0, 1, 2, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**64 - 1])
def test_neighbouring_seeds_are_unrelated(seed: int) -> None:
    mine = stream(seed, "data").numpy().random(20_000)
    for other in (seed - 1, seed + 1, seed ^ 2**32, 0):
        if 0 <= other < 2**64 and other != seed:
            assert abs(correlation_z(mine, stream(other, "data").numpy().random(20_000))) < 5
    torchs = torch.rand(20_000, generator=stream(seed, "data").torch()).numpy()
    assert (
        abs(correlation_z(torchs, torch.rand(20_000, generator=stream(seed ^ 1, "data").torch()).numpy())) < 5
    )


def test_no_two_of_epoch_sample_rank_and_worker_share_a_stream() -> None:
    paths: list[Any] = [("data", epoch, "sample", index) for epoch in range(30) for index in range(30)]
    paths += [
        ("data", epoch, "shard", shard, n) for epoch in range(10) for shard in range(10) for n in range(5)
    ]
    paths += [(1, "rank", rank, "worker", worker) for rank in range(30) for worker in range(30)]
    paths += [("data", epoch, "order") for epoch in range(30)] + [("data", 1, 1), ("data", 11), ("data1", 1)]
    assert len({stream_seed(seed, *path) for path in paths for seed in (0, 1)}) == 2 * len(paths)


@pytest.mark.slow
def test_the_standard_recipe_differs_by_rank_worker_epoch_and_library() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = [pool.submit(samples.drawn_by_rank, rank).result(100) for rank in (0, 1)]
        assert pool.submit(samples.drawn_by_rank, 0).result(100) == found[0]
    assert len({value for rank in found for value in rank}) == 2 * 2 * 8 * 3


def test_worker_seed_is_for_workers() -> None:
    with pytest.raises(Exception, match="for DataLoader workers"):
        worker_seed()
