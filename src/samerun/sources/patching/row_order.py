"""Rows of a polars frame, which come in any order unless the call asks to keep it.

https://docs.pola.rs/api/python/stable/reference/dataframe/api/polars.DataFrame.group_by.html
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from samerun import wrapping
from samerun.sources.source import Undo
from samerun.wrapping import Around

MODULE = "polars"
METHODS = ("group_by", "unique")
NAMES = frozenset(f"{MODULE}.{name}" for name in METHODS)


def wrap_methods(hook_for: Callable[[str], Around]) -> Undo:
    """Have the hook of each name stand around the methods of frames, eager and lazy, that lose the order."""
    polars: Any = sys.modules[MODULE]
    return wrapping.undo_all(
        [
            wrapping.wrap_attribute(owner, name, hook_for(f"{MODULE}.{name}"))
            for owner in (polars.DataFrame, polars.LazyFrame)
            for name in METHODS
        ]
    )


def loses_order(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call does not ask to keep the order."""
    return not kwargs.get("maintain_order", False)


def keep_rows() -> Undo:
    """Have each such call keep the order: one of those that it could have given."""

    def ordered(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return original(*args, **{**kwargs, "maintain_order": True})

    return wrap_methods(lambda name: ordered)
