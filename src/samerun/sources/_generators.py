"""The three generators that datasets draw from, seeded and swapped together, fast and unseen by observers."""

from __future__ import annotations

import _random
import random
import sys
from collections.abc import Callable
from typing import Any

State = tuple[Any, Any, Any]


def seed_all(seed: int) -> None:
    """Seed python's, numpy's (when imported) and torch's CPU generator with 64 bits."""
    import torch

    _random.Random.seed(random._inst, seed)
    random._inst.gauss_next = None  # type: ignore[attr-defined]
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.mtrand._rand.seed([seed & 0xFFFFFFFF, seed >> 32])
    torch.default_generator.manual_seed(seed)


def capture() -> State:
    """Their states, for `restore` in this process."""
    import torch

    numpy = sys.modules.get("numpy.random")
    return random.getstate(), numpy and numpy.get_state(), torch.default_generator.get_state()


def restore(state: State) -> None:
    """Put back what `capture` gave."""
    import torch

    random.setstate(state[0])
    if state[1] is not None:
        sys.modules["numpy.random"].set_state(state[1])
    torch.default_generator.set_state(state[2])


def apart(call: Callable[..., Any], *args: Any) -> Any:
    """Call, and leave the generators as they were before."""
    before = capture()
    try:
        return call(*args)
    finally:
        restore(before)
