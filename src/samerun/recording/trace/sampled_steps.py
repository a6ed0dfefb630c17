"""The steps after which something is written that would be too much to write after every one."""

from __future__ import annotations

_FIRST = 8  # steps that are all among them


def is_sampled(step: int) -> bool:
    """Whether a step is among 0 … 7, 8, 11, 16, 22, 32, …: one in each factor of the square root of 2."""
    power = step.bit_length() - 1
    return step < _FIRST or step in (2**power, int(2 ** (power + 0.5)))
