"""Changing what DataLoaders are made with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from samerun.sources.source import Undo
from samerun.wrapping import wrap_attribute

LOADERS = "worker-count"  # the source that says which DataLoaders a run made


def read_worker_counts(settings: Mapping[str, Mapping[str, Any]]) -> list[int]:
    """The num_workers of each DataLoader that a run had made by its first step."""
    found = settings.get(LOADERS, {}).get("workers", [])
    return [count for count in found if isinstance(count, int)]


def change_arguments(change: Callable[[dict[str, Any]], None]) -> Undo:
    """Let `change` alter the arguments, by name and with the defaults, of each DataLoader that is made."""
    from torch.utils.data import DataLoader

    signature = inspect.signature(DataLoader.__init__)

    def init(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return original(*args, **kwargs)  # which says what is wrong
        bound.apply_defaults()
        change(bound.arguments)
        return original(*bound.args, **bound.kwargs)

    return wrap_attribute(DataLoader, "__init__", init)
