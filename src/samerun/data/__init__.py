"""Data that does not depend on who loads it: splits, order and per-sample randomness by name.

The public names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samerun.data.folds import kfold
    from samerun.data.keyed import sample_stream
    from samerun.data.loader import DataLoader
    from samerun.data.sampler import Sampler
    from samerun.data.splits import split
    from samerun.data.torch_recipe import generator, worker_init_fn, worker_seed
    from samerun.data.torchdata import stateful

__all__ = [
    "DataLoader",
    "Sampler",
    "generator",
    "kfold",
    "sample_stream",
    "split",
    "stateful",
    "worker_init_fn",
    "worker_seed",
]

_HOMES = {
    "DataLoader": "loader",
    "Sampler": "sampler",
    "generator": "torch_recipe",
    "kfold": "folds",
    "sample_stream": "keyed",
    "split": "splits",
    "stateful": "torchdata",
    "worker_init_fn": "torch_recipe",
    "worker_seed": "torch_recipe",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
