"""Law 2 for each control that gives numbers: over many seeds they are what the plain program's could be."""

from __future__ import annotations

import os
import random
import secrets
import uuid
from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import polars
import pytest
import torch

from fidelity.fairness import agree, complaints
from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources

SEEDS, DRAWS = 200, 4
BASE = duckdb.connect()


def of_bytes(data: bytes) -> float:
    return int.from_bytes(data[:7], "big") / 2**56


def torch_seed() -> float:
    generator = torch.Generator()
    generator.seed()
    return torch.rand((), dtype=torch.float64, generator=generator).item()


def global_torch_seed() -> float:
    torch.seed()
    return torch.rand((), dtype=torch.float64).item()


def reseeded_numpy() -> float:
    np.random.seed()
    return float(np.random.rand())


def reseeded_python() -> float:
    random.seed()
    return random.random()


# What a script draws that never seeded anything, by the source that it is of.
WAYS: dict[str, dict[str, Callable[[], float]]] = {
    "python-random": {"random": random.random, "random.seed()": reseeded_python},
    "numpy-global": {"rand": lambda: float(np.random.rand()), "np.random.seed()": reseeded_numpy},
    "numpy-generator": {
        "default_rng()": lambda: float(np.random.default_rng().random()),
        "RandomState()": lambda: float(np.random.RandomState().rand()),
        "SeedSequence()": lambda: float(np.random.default_rng(np.random.SeedSequence()).random()),
    },
    "torch-cpu": {
        "torch.rand": lambda: torch.rand((), dtype=torch.float64).item(),
        "torch.seed()": global_torch_seed,
        "Generator().seed()": torch_seed,
    },
    "os-entropy": {
        "random.Random()": lambda: random.Random().random(),
        "SystemRandom()": lambda: random.SystemRandom().random(),
        "os.urandom": lambda: of_bytes(os.urandom(8)),
        "secrets": lambda: of_bytes(secrets.token_bytes(8)),
        "uuid4": lambda: of_bytes(uuid.uuid4().bytes),
    },
    "library-generators": {
        "polars": lambda: polars.int_range(10**6, eager=True).sample(1).item() / 10**6,
        "DuckDB": lambda: BASE.execute("select random()").fetchall()[0][0],
    },
}


@pytest.fixture(autouse=True)
def the_main_generators() -> Iterator[None]:
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(kept[0]), np.random.set_state(kept[1]), torch.set_rng_state(kept[2])


def controlled(id_: str, seed: int, draw: Callable[[], float]) -> list[float]:
    undo = find_sources()[id_].control(Control(seed=seed))
    assert undo is not None
    try:
        return [draw() for _ in range(DRAWS)]
    finally:
        undo()


def test_every_control_that_gives_numbers_is_here() -> None:
    drawing = {
        id_ for id_, source in find_sources().items() if source.controllable and "seeded" in source.modes
    }
    elsewhere = {
        "worker-seeds",  # test_per_sample_draws
        "torch-cuda", "torch-mps", "torch-xpu",  # need the device
        "hash-seed", "listing-order", "worker-arrival",  # orders
    }  # fmt: skip
    assert drawing == set(WAYS) | elsewhere


@pytest.mark.parametrize("way", [(id_, name) for id_, ways in WAYS.items() for name in ways], ids=": ".join)
def test_controlled_numbers_are_fair_and_repeat(way: tuple[str, str]) -> None:
    id_, name = way
    draw = WAYS[id_][name]
    found = [controlled(id_, seed, draw) for seed in range(SEEDS)]
    assert complaints(found) == []
    assert agree(found, [[draw() for _ in range(DRAWS)] for _ in range(SEEDS)]) == []
    assert controlled(id_, 3, draw) == found[3]
    assert controlled(id_, 3, draw) != found[4]


@pytest.mark.parametrize("way", ["uuid4", "os.urandom"])
def test_entropy_is_another_one_for_other_arguments(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """It names files, and the commands of a sweep run side by side: one name would be one file."""

    def draw(*arguments: str) -> list[float]:
        monkeypatch.setattr("sys.argv", ["train.py", *arguments])
        return controlled("os-entropy", 0, WAYS["os-entropy"][way])

    alone = draw("--lr", "1")
    assert alone == draw("--lr", "2")  # in a program that controls itself
    monkeypatch.setenv("SAMERUN_PLAN", "{}")
    one, other = draw("--lr", "1"), draw("--lr", "2")
    assert not set(one) & set(other)
    assert draw("--lr", "1") == one
