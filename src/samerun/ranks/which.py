"""Which rank am I."""

from __future__ import annotations

import os
import sys


def rank() -> int:
    """This process's rank: torch.distributed's when it is initialised, else RANK, else 0."""
    return _asked("get_rank", "RANK", 0)


def world_size() -> int:
    """How many ranks there are: torch.distributed's when it is initialised, else WORLD_SIZE, else 1."""
    return _asked("get_world_size", "WORLD_SIZE", 1)


def has_group() -> bool:
    """Whether torch.distributed has a process group in this process."""
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def _asked(function: str, variable: str, default: int) -> int:
    if has_group():
        return int(getattr(sys.modules["torch.distributed"], function)())
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else default
