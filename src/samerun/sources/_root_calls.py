"""Changing the calls of root modules: those that no other module makes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from samerun.sources import _patch
from samerun.sources.source import Undo

Call = Callable[..., Any]


class _Depth(threading.local):
    calls = 0


def changing(change: Callable[[Call, Any, tuple[Any, ...], dict[str, Any]], Any]) -> Undo:
    """Put `change(call, module, args, kwargs)` in the place of each root module's call.

    What `change` calls by `call(module, ...)` is called as a root module again, by nobody but it.
    """
    from torch import nn

    original: Call = nn.Module.__call__
    depth = _Depth()

    def called(module: Any, *args: Any, **kwargs: Any) -> Any:
        if depth.calls:
            return original(module, *args, **kwargs)
        depth.calls += 1
        try:
            return change(original, module, args, kwargs)
        finally:
            depth.calls -= 1

    return _patch.replace(nn.Module, "__call__", called)
