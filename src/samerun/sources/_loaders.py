"""Changing what DataLoaders are made with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from samerun.sources import _patch
from samerun.sources.source import Undo

LOADERS = "worker-count"  # the source that says which DataLoaders a run made


def made_with(settings: Mapping[str, Mapping[str, Any]]) -> list[int]:
    """The num_workers of each DataLoader that a run had made by its first step."""
    found = settings.get(LOADERS, {}).get("workers", [])
    return [count for count in found if isinstance(count, int)]


def changing(change: Callable[[dict[str, Any]], None]) -> Undo:
    """Let `change` alter the arguments, by name and with the defaults, of each DataLoader that is made."""
    from torch.utils.data import DataLoader

    original: Any = DataLoader.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        change(bound.arguments)
        original(*bound.args, **bound.kwargs)

    return _patch.replace(DataLoader, "__init__", init)
