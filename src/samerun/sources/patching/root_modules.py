"""Changing the calls of root modules: those that no other module makes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from samerun.sources.source import Undo
from samerun.wrapping import hide_frames, wrap_attribute

Call = Callable[..., Any]


class _Depth(threading.local):
    calls = 0


def change_calls(change: Callable[[Call, Any, tuple[Any, ...], dict[str, Any]], Any]) -> Undo:
    """Put `change(call, module, args, kwargs)` in the place of each root module's call.

    What `change` calls by `call(module, ...)` is called as a root module again, by nobody but it.
    """
    from torch import nn

    depth = _Depth()
    hide_frames(change)

    def called(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if depth.calls or not args:
            return original(*args, **kwargs)
        depth.calls += 1
        try:
            return change(original, args[0], args[1:], kwargs)
        finally:
            depth.calls -= 1

    return wrap_attribute(nn.Module, "__call__", called)
