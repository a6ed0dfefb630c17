"""Names of the machine and its user, changed for the user's own calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samerun.sources import _patch, _user_code
from samerun.sources.source import Undo


def answering(functions: list[tuple[Any, str]], value: str, took: Callable[[], None]) -> Undo:
    """Let these functions give `value` to the user's own code."""
    undos: list[Undo] = []
    for module, name in functions:
        original = getattr(module, name)

        def call(original: Any = original) -> Any:
            if not _user_code.called_directly():
                return original()
            took()
            return value

        wrapper = _patch.Wrapper(module, original, call)
        undos += [wrapper.release, _patch.replace(module, name, wrapper)]
    return _patch.all_of(undos)
