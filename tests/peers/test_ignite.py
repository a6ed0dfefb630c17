"""Ignite: its decorator that keeps the random state."""

from __future__ import annotations

import pytest
import torch

from samerun import isolate_rng

from .faults import fault
from .work import next_draws, seed


def validate() -> float:
    return float(torch.rand(8).mean())


def fail() -> None:
    torch.rand(8)
    raise ZeroDivisionError


@fault(
    "pytorch-ignite",
    "keep_random_state drops what the function returns",
    samerun="isolate_rng() as a decorator returns it, and keeps the random state",
)
class TestWhatADecoratedFunctionReturns:
    def test_peer(self, peer: str) -> None:
        from ignite.engine.deterministic import keep_random_state

        before = torch.get_rng_state()
        assert validate() is not None
        torch.set_rng_state(before)
        assert keep_random_state(validate)() is None
        assert torch.equal(torch.get_rng_state(), before)

    def test_samerun(self) -> None:
        seed(0)
        value, after = validate(), next_draws()
        seed(0)
        unbroken = next_draws()
        seed(0)
        assert isolate_rng()(validate)() == value
        assert next_draws() == unbroken != after


@fault(
    "pytorch-ignite",
    "keep_random_state does not restore after an exception",
    samerun="isolate_rng restores after an exception too",
)
class TestADecoratedFunctionThatRaises:
    def test_peer(self, peer: str) -> None:
        from ignite.engine.deterministic import keep_random_state

        before = torch.get_rng_state()
        with pytest.raises(ZeroDivisionError):
            keep_random_state(fail)()
        assert not torch.equal(torch.get_rng_state(), before)

    def test_samerun(self) -> None:
        seed(0)
        unbroken = next_draws()
        seed(0)
        with pytest.raises(ZeroDivisionError):
            isolate_rng()(fail)()
        assert next_draws() == unbroken
