"""The same samples in the same order, whoever loads them (issue: invariance)."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import samples

Grid = list[dict[str, Any]]


def grid(workers: tuple[int, ...], starts: tuple[str, ...]) -> Grid:
    return [
        {
            "num_workers": count,
            "persistent_workers": persistent,
            "prefetch_factor": prefetch,
            "multiprocessing_context": start,
        }
        for count, persistent, prefetch, start in itertools.product(workers, (False, True), (1, 8), starts)
    ]


NO_WORKERS: Grid = [{"num_workers": 0}]
# Of each number of workers those two that are most unlike each other.
QUICK = [*NO_WORKERS, *(grid((count,), ("fork",))[at] for count in (1, 2, 4) for at in (0, 3))]
QUICK += grid((2,), ("spawn",))[2:3]
FULL = [*NO_WORKERS, *grid((1, 2, 4), ("fork", "spawn")), *grid((2,), ("forkserver",))]


def name(config: dict[str, Any]) -> str:
    return "-".join(str(value) for value in config.values())


@pytest.fixture(scope="module")
def alone() -> Any:
    """What one process without workers loads."""
    return samples.load({"world_size": 1, "rank": 0, "num_workers": 0})


def test_every_epoch_is_another_order_and_other_randomness(alone: Any) -> None:
    flat = [[sample for batch in epoch for sample in batch] for epoch in alone]
    assert [sorted(index for index, _ in epoch) for epoch in flat] == [list(range(samples.SAMPLES))] * 3
    assert len({tuple(index for index, _ in epoch) for epoch in flat}) == 3
    assert len({digest for epoch in flat for _, digest in epoch}) == 3 * samples.SAMPLES


@pytest.mark.parametrize("config", QUICK[1:], ids=name)
def test_workers(alone: Any, config: dict[str, Any]) -> None:
    assert samples.load({"world_size": 1, "rank": 0, **config}) == alone


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("config", FULL[1:], ids=name)
def test_workers_in_full(alone: Any, config: dict[str, Any]) -> None:
    assert samples.load({"world_size": 1, "rank": 0, **config}) == alone


@pytest.mark.parametrize("world_size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks(alone: Any, world_size: int, tmp_path: Path) -> None:
    some = [*NO_WORKERS, *grid((2,), ("fork",))[:: 5 - world_size]]
    for loaded in _by_ranks(world_size, some, tmp_path):
        assert loaded == json.loads(json.dumps(alone))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("world_size", [2, 4])
def test_ranks_in_full(alone: Any, world_size: int, tmp_path: Path) -> None:
    for config, loaded in zip(FULL, _by_ranks(world_size, FULL, tmp_path), strict=True):
        assert loaded == json.loads(json.dumps(alone)), config


def test_one_seed_further_everything_is_another(alone: Any) -> None:
    loader = samples.DataLoader(samples.Images(), samples.GLOBAL_BATCH, shuffle=True, seed=6)
    other = samples.sample_digests(loader)
    for epoch, changed in zip(alone, other, strict=True):
        assert [i for batch in epoch for i, _ in batch] != [i for batch in changed for i, _ in batch]
        assert not {d for batch in epoch for _, d in batch} & {d for batch in changed for _, d in batch}


def _by_ranks(world_size: int, configs: Grid, folder: Path) -> list[Any]:
    """What real gloo processes load, put together again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world_size)}
    command = [sys.executable, samples.__file__, str(folder / "loaded"), json.dumps(configs)]
    processes = [
        subprocess.Popen(command, env={**os.environ, **world, "RANK": str(rank), "OMP_NUM_THREADS": "1"})
        for rank in range(world_size)
    ]
    try:
        assert [process.wait(1500) for process in processes] == [0] * world_size
    finally:
        for process in processes:
            process.kill()
    found = [json.loads((folder / f"loaded.{rank}").read_text()) for rank in range(world_size)]
    return [samples.whole(list(ranks)) for ranks in zip(*found, strict=True)]
