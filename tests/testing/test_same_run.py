"""assert_same_run passes what repeats, and names what does not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from samerun.controls import isolate_rng
from samerun.errors import UsageError
from samerun.testing import assert_same_run


def train() -> dict[str, Any]:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(3):
        loss = model(torch.rand(8, 4)).square().mean() + random.random() + np.random.rand()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return {"losses": losses, "model": model, "optimizer": optimizer, "state": model.state_dict()}


def test_a_training_that_draws_from_every_generator() -> None:
    assert_same_run(train, runs=3, seed=7)


def flipped() -> Callable[[], Any]:
    """The same but for the last bit of one weight, in every call but the first."""
    calls = 0

    def fn() -> Any:
        nonlocal calls
        result = train()
        result["model"][2].weight.data.view(torch.int32)[0, 3] ^= int(calls > 1)
        calls += 1
        return result

    return fn


def test_one_bit_is_named() -> None:
    assert_same_run(flipped())
    with pytest.raises(
        AssertionError, match=r"3 runs are not the same .*: model\.2\.weight \(torch\.float32"
    ):
        assert_same_run(flipped(), runs=3)


def test_a_loss_is_named_with_both_values() -> None:
    losses = iter([0.5, 0.25])
    with pytest.raises(AssertionError, match=r"losses\[1\] is 0\.25 in run 2, and 0\.5 in run 1"):
        assert_same_run(lambda: {"losses": [1.0, next(losses)]})


def test_what_only_one_run_has_is_named() -> None:
    results = iter([{"a": 1}, {"a": 1, "b": 2}, {"a": 1}])
    with pytest.raises(AssertionError, match="b is there in run 2 only"):
        assert_same_run(lambda: next(results))


def test_without_control_a_training_must_seed_itself() -> None:
    with isolate_rng():
        with pytest.raises(AssertionError, match="losses"):
            assert_same_run(train, mode="off")
        assert_same_run(lambda: [torch.manual_seed(0), torch.rand(3)][1], mode="off")


def test_the_seed_is_the_one_given() -> None:
    results: list[float] = []
    for seed in (1, 2):
        assert_same_run(lambda: results.append(float(torch.rand(()))) or results[-1], seed=seed)
    assert results[0] == results[1] != results[2] == results[3]


def test_the_callers_generators_are_left_alone() -> None:
    before = random.getstate(), torch.get_rng_state()
    assert_same_run(train)
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


@pytest.mark.parametrize("result", [None, [], {"losses": [], "best": None}])
def test_nothing_to_compare_is_not_a_pass(result: object) -> None:
    with pytest.raises(UsageError, match="nothing to compare"):
        assert_same_run(lambda: result)


def test_one_run_is_not_a_comparison() -> None:
    with pytest.raises(UsageError, match="at least 2"):
        assert_same_run(train, runs=1)
