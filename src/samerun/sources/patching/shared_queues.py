"""Queues that several threads put into: whose item is taken first is a race."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

from samerun.wrapping import SELF, Undo, wrap_attribute

_Giver = tuple[int, type | None, Any]  # a thread's identity, its class, and the code that it runs


class SharedQueues:
    """Which threads put into each `queue.Queue` of this process; holds no thread and no queue alive.

    Many threads are here at once, also within a garbage collection, so there is no lock: each step is one
    operation of a dict with plain keys, which no other thread can interrupt. A queue is known by its id: a
    subclass of the user's may have no hash, or one of its own.
    """

    def __init__(self) -> None:
        self._givers: dict[int, dict[_Giver, None]] = {}
        self._alive: dict[int, weakref.ref[queue.Queue[Any]]] = {}

    def observe(self) -> Undo:
        """Remember who puts, from here on. `put_nowait` calls `put`."""

        def put(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            filled = SELF.of(args, kwargs)
            if isinstance(filled, queue.Queue):
                self._find_givers(filled)[_describe_own_thread()] = None
            return original(*args, **kwargs)

        return wrap_attribute(queue.Queue, "put", put)

    def _find_givers(self, filled: queue.Queue[Any]) -> dict[_Giver, None]:
        key = id(filled)
        if key not in self._alive:
            self._alive[key] = weakref.ref(filled, lambda _: self._forget(key))
        return self._givers.setdefault(key, {})

    def _forget(self, key: int) -> None:
        self._alive.pop(key, None)
        self._givers.pop(key, None)

    def count_givers(self, taken: Any) -> int:
        """How many threads put into a queue, the main one and the one that asks aside.

        Those that did, and those alive that run the code of one of them: they may only be slower.
        """
        aside = {threading.get_ident(), threading.main_thread().ident}
        did = {giver for giver in list(self._givers.get(id(taken), ())) if giver[0] not in aside}
        work = {giver[1:] for giver in did}
        alive = {giver for giver in map(_describe, threading.enumerate()) if giver[1:] in work}
        return len({giver[0] for giver in did | alive} - aside)


def _describe_own_thread() -> _Giver:
    """Not by `threading.current_thread`, which enters a thread that it does not know into Python's list."""
    own = threading.get_ident()
    known = (thread for thread in threading.enumerate() if thread.ident == own)
    found = next(known, None)
    return (own, None, None) if found is None else _describe(found)


def _describe(thread: threading.Thread) -> _Giver:
    target = getattr(thread, "_target", None)  # of a subclass with a `run` of its own: None
    function = getattr(target, "__func__", target)
    return thread.ident or 0, type(thread), getattr(function, "__code__", None)
