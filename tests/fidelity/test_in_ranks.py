"""Law 2 in a real process group: ranks that know of each other by init_process_group alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.utils.data import Dataset

import samerun
from fidelity.fairness import complaints
from fidelity.loaders import PASSES, SIZE, Drawing, Streaming

SEEDS, WORLD = 200, 2
LAYOUTS = ("distributed", "never told", "streaming", "shared")  # the last: each rank loads the whole
WITH_WORKERS = ("distributed", "streaming", "shared")
FEW = 2  # with workers: one that was forked from a process with a gloo group takes 5 seconds to end


def draws(layout: str, seed: int, rank: int, workers: int) -> np.ndarray[Any, Any]:
    """What one rank draws for the samples that it is given, float (PASSES, SIZE // WORLD or SIZE)."""
    with samerun.control(seed=seed, mode="seeded"):
        torch.manual_seed(seed)  # each rank alike, as scripts do
        random.seed(seed if layout == "shared" else f"{seed} {rank}")
        data: Dataset[Any] = Streaming("random") if layout == "streaming" else Drawing("random")
        sampler = None
        if layout in ("distributed", "never told"):
            sampler = torch.utils.data.DistributedSampler(data, WORLD, rank)
        loader = torch.utils.data.DataLoader(data, 1, sampler=sampler, num_workers=workers)
        found = []
        for epoch in range(PASSES):
            if sampler is not None and layout == "distributed":
                sampler.set_epoch(epoch)
            found.append([float(value) for _, value in loader])
        return np.array(found)


def rank_of(rank: int, seeds: int, workers: int, folder: str) -> None:
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=WORLD)
    for layout in LAYOUTS if workers == 0 else WITH_WORKERS:
        found = torch.from_numpy(np.stack([draws(layout, seed, rank, workers) for seed in range(seeds)]))
        assert len(np.unique(found)) == found.numel(), layout
        again = torch.from_numpy(draws(layout, 1, rank, workers))
        assert torch.equal(found[1], again)
        everyone = [torch.empty_like(found) for _ in range(WORLD)]
        dist.all_gather(everyone, found)
        if rank == 0:  # (seeds, passes, ranks, samples)
            np.save(f"{folder}/{layout}.npy", torch.stack(everyone, 2).numpy())
    dist.destroy_process_group()


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_ranks_of_a_process_group_draw_apart_but_where_the_plain_program_draws_alike(
    workers: int, tmp_path: Path
) -> None:
    """In one group for all layouts: its processes import torch, which takes longer than what they draw.

    With workers, torch seeds the generators of each by the base seed, which is the same on all ranks here.
    """
    seeds = SEEDS if workers == 0 else FEW
    torch.multiprocessing.spawn(rank_of, (seeds, workers, str(tmp_path)), nprocs=WORLD)  # type: ignore[attr-defined,no-untyped-call]
    for layout in LAYOUTS if workers == 0 else WITH_WORKERS:
        found = np.load(tmp_path / f"{layout}.npy")
        assert found.shape[2] == WORLD
        if layout == "shared" or (layout == "streaming" and workers):
            assert np.array_equal(found[:, :, 0], found[:, :, 1]), layout
        else:
            check(layout, found, seeds, workers)


def check(layout: str, found: np.ndarray[Any, Any], seeds: int, workers: int) -> None:
    size = SIZE if layout in ("streaming", "shared") else SIZE // WORLD
    assert found.shape == (seeds, PASSES, WORLD, size), layout
    assert len(np.unique(found)) == found.size, layout
    assert workers or complaints(found) == [], layout
