"""Covers `moved.py` and `roots.py`: every single bit counts, with the leaves of a run and without."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from samerun.experiments.lock.build import build_environment
from samerun.experiments.lock.moved import find_moved
from samerun.experiments.lock.negative_control import Flip, flip_bit
from samerun.experiments.lock.observed import Observed, observe
from samerun.runs.plan import Control

from ..locking import Machine, made_request
from ..scripts import Script


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    request = made_request(tmp_path_factory.mktemp("run"), control=Control())
    machine = Machine(Script(steps=40, batches=("torch-cpu",)))
    return observe(machine.record(request.launch, request.plan, request.workspace))


def test_the_run_itself_has_not_moved(observed: Observed) -> None:
    locked = build_environment(observed)
    assert find_moved(locked, observed) == find_moved(locked, observed, observed.leaves) == ()
    assert find_moved(locked, observed, limit=7) == ()


def test_a_thousand_single_bits_are_found_at_their_step_with_leaves_and_by_the_roots_without(
    observed: Observed,
) -> None:
    locked, chance = build_environment(observed), random.Random(0)
    held = {step.at for step in locked.steps}
    for _ in range(1000):
        step, quantity = chance.choice(sorted(observed.leaves.digests))
        flipped = flip_bit(observed, Flip(step, quantity, chance.randrange(128)))
        (exact,) = find_moved(locked, flipped, observed.leaves)
        assert (exact.quantity, exact.step, exact.exact) == (quantity, step, True)
        (rooted,) = find_moved(locked, flipped)
        assert rooted.quantity == quantity and rooted.step == (step if step in held else None)


def test_below_a_limit_only_what_is_there_counts(observed: Observed) -> None:
    locked = build_environment(observed)
    early, late = (flip_bit(observed, Flip(step, "loss", 5)) for step in (4, 16))
    assert [item.step for item in find_moved(locked, early, limit=8)] == [4]
    assert find_moved(locked, late, limit=8) == ()
    assert [item.step for item in find_moved(locked, late, limit=17)] == [16]


def test_a_step_more_or_less_is_a_difference(observed: Observed, tmp_path: Path) -> None:
    request = made_request(tmp_path)
    machine = Machine(Script(steps=41, batches=("torch-cpu",)))
    longer = observe(machine.record(request.launch, request.plan, request.workspace))
    assert find_moved(build_environment(observed), longer)
    assert (
        find_moved(build_environment(observed), longer, observed.leaves)[0].step == 39
    )  # evaluated only later
    assert find_moved(build_environment(longer), observed)
