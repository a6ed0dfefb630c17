"""The generators that a dataset holds: which there are, and whether only draws lie between two states."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from samerun.recording.draws.dataset_generators import find

here = np.random.default_rng(3)  # of the module, as scripts have one


class Chain:
    """As of a library of augmentations: it holds what it draws from."""

    def __init__(self) -> None:
        self.steps = [random.Random(1)]


named, unnamed = Chain(), Chain()


class Naming:
    """A dataset whose augmentation is a variable of the script."""

    def __getitem__(self, index: int) -> float:
        return named.steps[0].random()


class Holding:
    """A dataset that holds generators, deep and wide, and itself."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)
        self.transforms = [("crop", {"p": 0.5, "own": random.Random(1)})]
        self.torch = torch.Generator()
        self.system = random.SystemRandom()
        self.shared = np.random.mtrand._rand
        self.samples = [object()] * 100_000
        self.myself = self

    @property
    def trap(self) -> Any:
        raise AssertionError("nothing of the script's is run")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_they_are_found_where_they_are() -> None:
    assert {own.name for own in find(Holding())} == {
        "numpy-generator:Holding.rng",
        "python-random:Holding.transforms[0][1]['own']",
        "torch-cpu:Holding.torch",
        "numpy-generator:here",
    }


def test_of_the_globals_those_count_that_the_class_names() -> None:
    names = {own.name for own in find(Naming())}
    assert names == {"python-random:named.steps[0]", "numpy-generator:here"}


@pytest.mark.parametrize(
    "make, draw, seed",
    [
        (lambda: random.Random(1), lambda it: [it.random() for _ in range(2000)], lambda it: it.seed(2)),
        (lambda: random.Random(1), lambda it: it.gauss(0, 1), lambda it: it.seed(2)),
        (lambda: np.random.RandomState(1), lambda it: it.rand(5000), lambda it: it.seed(2)),
        (lambda: torch.Generator(), lambda it: torch.rand(9, generator=it), lambda it: it.manual_seed(2)),
    ],
)
def test_draws_are_told_from_a_seeding(
    make: Callable[[], Any], draw: Callable[[Any], Any], seed: Callable[[Any], Any]
) -> None:
    class Data:
        def __init__(self) -> None:
            self.it = make()

    data = Data()
    (own,) = [own for own in find(data) if own.where == "Data.it"]
    before = own.state()
    draw(data.it)
    assert own.state().digest != before.digest
    assert before.leads_to(own.state())
    seed(data.it)
    draw(data.it)
    assert not before.leads_to(own.state())


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.Philox])
def test_another_bit_generator_is_no_draw(bits: Any) -> None:
    class Data:
        def __init__(self) -> None:
            self.rng = np.random.Generator(bits(1))

    data = Data()
    (own,) = [own for own in find(data) if own.where == "Data.rng"]
    before = own.state()
    data.rng.random(5)
    assert before.leads_to(own.state())
    data.rng.bit_generator.state = bits(2).state
    assert not before.leads_to(own.state())


def test_what_cannot_be_seen_is_not_called_draws() -> None:
    class Data:
        def __init__(self) -> None:
            self.rng = np.random.Generator(np.random.SFC64(1))

    data = Data()
    (own,) = [own for own in find(data) if own.where == "Data.rng"]
    before = own.state()
    data.rng.random(5)
    assert not before.leads_to(own.state())
