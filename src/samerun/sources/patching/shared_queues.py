"""Queues that several threads put into: whose item is taken first is a race."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

from samerun.wrapping import SELF, Undo, wrap_attribute

_Giver = tuple[int, type, Any]  # a thread's identity, its class, and the code that it runs


class SharedQueues:
    """Which threads put into each `queue.Queue` of this process; holds no thread and no queue alive."""

    def __init__(self) -> None:
        self._givers: weakref.WeakKeyDictionary[queue.Queue[Any], set[_Giver]] = weakref.WeakKeyDictionary()

    def observe(self) -> Undo:
        """Remember who puts, from here on. `put_nowait` calls `put`."""

        def put(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            filled = SELF.of(args, kwargs)
            if isinstance(filled, queue.Queue):
                self._givers.setdefault(filled, set()).add(_describe(threading.current_thread()))
            return original(*args, **kwargs)

        return wrap_attribute(queue.Queue, "put", put)

    def count_givers(self, taken: Any) -> int:
        """How many threads put into a queue, the main one and the one that asks aside.

        Those that did, and those alive that run the code of one of them: they may only be slower.
        """
        aside = {threading.get_ident(), threading.main_thread().ident}
        did = {giver for giver in self._givers.get(taken, ()) if giver[0] not in aside}
        work = {giver[1:] for giver in did}
        alive = {giver for giver in map(_describe, threading.enumerate()) if giver[1:] in work}
        return len({giver[0] for giver in did | alive} - aside)


def _describe(thread: threading.Thread) -> _Giver:
    target = getattr(thread, "_target", None)  # of a subclass with a `run` of its own: None
    function = getattr(target, "__func__", target)
    return thread.ident or 0, type(thread), getattr(function, "__code__", None)
