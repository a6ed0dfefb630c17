"""Names of the machine and its user, changed for the user's own calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samerun import callsite
from samerun.sources.patching import attribute
from samerun.sources.source import Undo


def answer_with(functions: list[tuple[Any, str]], value: str, took: Callable[[], None]) -> Undo:
    """Let these functions give `value` to the user's own code."""

    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args or kwargs or not callsite.is_called_directly():
            return original(*args, **kwargs)
        took()
        return value

    undos: list[Undo] = []
    for module, name in functions:
        undos.append(attribute.patch_for_others(module, name, call))
    return attribute.undo_all(undos)
