"""Law 2, control draws and does not freeze: what data draw under control is what they could have drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from fidelity.fairness import agree, complaints, planted
from fidelity.loaders import (
    LAYOUTS,
    LIBRARIES,
    PASSES,
    SIZE,
    drawn,
    plain_map,
    same_seed_each_pass,
    streaming,
)
from samerun.runs.plan import Control
from samerun.sources.worker_seeds import WorkerSeeds

SEEDS = 200
source = WorkerSeeds()


def controlled(seed: int, layout: Callable[..., Any], library: str = "random", **options: Any) -> Any:
    undo = source.control(Control(seed=seed))
    assert undo is not None
    try:
        torch.manual_seed(seed)  # what the control of torch-cpu does
        return drawn(layout, library, **options)
    finally:
        undo()


def _name(value: Any) -> str:
    return "persistent" if value is True else "" if value is False else getattr(value, "__name__", str(value))


@pytest.fixture(autouse=True)
def the_main_generators() -> Iterator[None]:
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(kept[0]), np.random.set_state(kept[1]), torch.set_rng_state(kept[2])


@pytest.mark.parametrize("fault", planted((PASSES, SIZE)))
def test_the_statistics_see_what_a_control_could_do_wrong(fault: str) -> None:
    assert complaints(planted((PASSES, SIZE))[fault])


def test_the_statistics_pass_fair_draws() -> None:
    for seed in range(20):
        fair = np.random.default_rng(seed).random((2, SEEDS, PASSES, SIZE))
        assert complaints(fair[0]) == [] == agree(*fair)
    assert agree(fair[0], fair[1] * 0.8)


@pytest.mark.parametrize("layout", LAYOUTS, ids=_name)
def test_samples_draw_anew_in_each_pass(layout: Any) -> None:
    library = list(LIBRARIES)[LAYOUTS.index(layout) % len(LIBRARIES)]
    found = [controlled(seed, layout, library) for seed in range(SEEDS)]
    torch.manual_seed(1), np.random.seed(1), random.seed(1)
    plain = [drawn(layout, library) for _ in range(SEEDS)]
    assert complaints(plain) == []
    assert complaints(found) == []
    assert agree(found, plain) == []
    assert np.array_equal(found[3], controlled(3, layout, library))  # and it repeats


# With workers torch seeds them from the loader's generator: with one seed in each pass, all passes are alike.
ALIVE = [layout for layout in LAYOUTS if layout is not same_seed_each_pass]


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_that_are_seeded_alike_in_each_pass_draw_alike_as_they_do_without_us(
    persistent: bool,
) -> None:
    options = {"num_workers": 2, "persistent_workers": persistent}
    for passes in (
        drawn(same_seed_each_pass, "numpy", **options),
        controlled(0, same_seed_each_pass, "numpy", **options),
    ):
        assert len({row.tobytes() for row in passes}) == 1
        assert len(np.unique(passes)) == SIZE


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("layout", [layout for layout in ALIVE if layout is not streaming], ids=_name)
def test_whoever_makes_the_samples(layout: Any, workers: int) -> None:
    """Workers change nothing, so what holds without them does with them."""
    for seed in range(20):
        found = controlled(seed, layout, "numpy", num_workers=workers)
        assert np.array_equal(found, controlled(seed, layout, "numpy"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    ("layout", "persistent"), [*((layout, True) for layout in ALIVE), (streaming, False)], ids=_name
)
def test_in_workers_that_draw_for_themselves(layout: Any, persistent: bool, workers: int) -> None:
    """Each worker's stream is its own; persistent ones are given a base seed for the first pass alone."""
    options = {"num_workers": workers, "persistent_workers": persistent}
    found = [controlled(seed, layout, "numpy", **options) for seed in range(SEEDS)]
    assert complaints(found) == []
    assert np.array_equal(found[3], controlled(3, layout, "numpy", **options))


def test_ranks_draw_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though they may be given the same samples, where they have seeds of their own."""

    def of(rank: int, seed: int, layout: Any) -> Any:
        monkeypatch.setenv("RANK", str(rank)), monkeypatch.setenv("WORLD_SIZE", "2")
        random.seed(2 * seed + rank)
        return controlled(2 * seed + rank, layout)

    for layout in (plain_map, streaming):
        found = [[of(rank, seed, layout) for rank in (0, 1)] for seed in range(SEEDS)]
        assert complaints(found) == []


# --- resumes ------------------------------------------------------------------------------------------------


def passes(first: int, told: bool, state: Any = None, seed: int = 5) -> tuple[list[Any], Any]:
    """Passes from `first` on in a process of its own, and torch's generator after pass 0."""
    undo = source.control(Control(seed=seed))
    assert undo is not None
    try:
        torch.manual_seed(seed)
        data = [0, 1, 2, 3]
        sampler = torch.utils.data.DistributedSampler(data, 1, 0)
        loader = torch.utils.data.DataLoader(
            data, 2, sampler=sampler, collate_fn=lambda batch: [(index, random.random()) for index in batch]
        )
        if state is not None:
            torch.set_rng_state(state)
        found, kept = [], None
        for epoch in range(first, PASSES):
            if told:
                sampler.set_epoch(epoch)
            found.append([tuple(each) for batch in loader for each in batch])
            kept = torch.get_rng_state() if epoch == 0 else kept
        return found, kept
    finally:
        undo()


def test_restored_generators_bring_back_what_a_training_drew() -> None:
    for told in (False, True):
        whole, state = passes(0, told)
        assert passes(1, told, state)[0] == whole[1:]
        assert passes(1, told, state)[0] != passes(1, told)[0] or told


def test_so_does_the_epoch_that_a_sampler_was_told() -> None:
    whole, _ = passes(0, told=True)
    resumed, _ = passes(1, told=True)
    assert resumed == whole[1:]
    values = [value for epoch in (whole[0], *resumed) for _, value in epoch]
    assert len(set(values)) == len(values)  # and repeats nothing


@pytest.mark.parametrize("told", [False, True])
def test_a_training_that_resumes_draws_what_is_fresh(told: bool) -> None:
    """Over many seeds: what the passes before the end drew, and those after the resume."""

    def of(seed: int) -> list[list[float]]:
        whole, state = passes(0, told, seed=seed)
        resumed, _ = passes(1, told, state, seed)
        return [[value for _, value in sorted(epoch)] for epoch in (whole[0], *resumed)]

    assert complaints([of(seed) for seed in range(SEEDS)]) == []


def test_another_position_of_the_generator_is_another_pass() -> None:
    """One draw more before the resumed pass shows."""
    whole, state = passes(0, told=False)
    torch.set_rng_state(state)
    torch.rand(())
    state = torch.get_rng_state()
    assert passes(1, told=False, state=state)[0] != whole[1:]
