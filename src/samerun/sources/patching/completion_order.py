"""Results of pools and tasks, and rows of frames, in the order in which they happen to be ready.

https://docs.python.org/3/library/concurrent.futures.html#concurrent.futures.as_completed
https://docs.python.org/3/library/asyncio-task.html#asyncio.as_completed
https://docs.python.org/3/library/multiprocessing.html#multiprocessing.pool.Pool.imap_unordered
https://docs.python.org/3/library/multiprocessing.html#multiprocessing.connection.wait
https://docs.python.org/3/library/selectors.html#selectors.BaseSelector.select
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.recv
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.Store.add
"""

from __future__ import annotations

import inspect
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from types import CodeType
from typing import Any

from samerun import callsite, wrapping
from samerun.sources.patching import row_order
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

MODULES = {  # and what they have for it
    "concurrent.futures": "as_completed",
    "asyncio": "as_completed",
    "multiprocessing.pool": "Pool",
    "multiprocessing.connection": "wait",
    "selectors": "DefaultSelector",
    "torch.distributed": "recv",
    row_order.MODULE: "LazyFrame",
}
LOADER = "DataLoader(in_order=False)"
ORDERED = row_order.NAMES | {"as_completed", "imap_unordered", LOADER}  # what a control takes hold of
_RECEIVE = ("recv", "irecv")
COUNTED = ("Store.add", "Store.compare_set")  # what they give depends on which process asks first
_CALLBACKS = ("apply_async", "map_async", "starmap_async")


def note_uses(module: str, journal: Journal) -> Undo:
    """Note each use by the user's code of what this module has, in an "arrival" row: one for each line."""
    seen: set[tuple[CodeType, int]] = set()

    def note(name: str, asks: Callable[[tuple[Any, ...], dict[str, Any]], bool]) -> Around:
        def noted(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            caller = callsite.find_caller(2)
            if caller is not None and (caller.f_code, caller.f_lineno) not in seen and asks(args, kwargs):
                seen.add((caller.f_code, caller.f_lineno))
                journal.note("arrival", name, user_only=True)
            return original(*args, **kwargs)

        return noted

    if module == row_order.MODULE:
        return row_order.wrap_methods(lambda name: note(name, row_order.loses_order))
    owner: Any = sys.modules[module]
    if module == "multiprocessing.pool":
        uses = [("imap_unordered", _always), *((name, _has_callback) for name in _CALLBACKS)]
        return wrapping.undo_all(
            [wrapping.wrap_attribute(owner.Pool, name, note(name, asks)) for name, asks in uses]
        )
    if module == "multiprocessing.connection":
        return wrapping.wrap_attribute(owner, "wait", note("connection.wait", _has_several))
    if module == "selectors":
        return wrapping.wrap_attribute(owner.DefaultSelector, "select", note("selector.select", _selects))
    if module == "torch.distributed":
        received = [wrapping.wrap_attribute(owner, name, note(name, _takes_from_any)) for name in _RECEIVE]
        counted = [
            wrapping.wrap_attribute(owner.Store, name.rpartition(".")[2], note(name, _by_the_user))
            for name in COUNTED
        ]
        return wrapping.undo_all([*received, *counted])
    return wrapping.undo_all(
        [
            wrapping.wrap_attribute(owner, "as_completed", note("as_completed", _always)),
            wrapping.wrap_attribute(owner, "wait", note(f"{module}.wait", _returns_early)),
        ]
    )


def keep_order(module: str) -> Undo:
    """Hand results over as they were asked for, by what `ORDERED` names."""
    if module in ("multiprocessing.connection", "selectors", "torch.distributed"):
        return lambda: None
    if module == row_order.MODULE:
        return row_order.keep_rows()
    if module == "multiprocessing.pool":
        pool: Any = sys.modules[module].Pool
        imap = pool.imap
        return wrapping.wrap_attribute(
            pool, "imap_unordered", lambda original, args, kwargs: imap(*args, **kwargs)
        )
    if module == "asyncio":

        def awaited(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return _call_ours(_AsCompleted, original, args, kwargs)

        return wrapping.wrap_attribute(sys.modules[module], "as_completed", awaited)
    return _order_futures(sys.modules[module])


def _always(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return True


def _by_the_user(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """torch counts by a store of its own where ranks wait for each other."""
    return callsite.is_called_directly()


def _has_callback(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return (kwargs.get("callback") or (args[4] if len(args) > 4 else None)) is not None


def _has_several(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    waited = wrapping.Parameter("object_list", 0).of(args, kwargs, ())
    return isinstance(waited, Sized) and len(waited) > 1


def _selects(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a line of the user's asks which of several connections is ready; asyncio always does."""
    selector = wrapping.SELF.of(args, kwargs, None)
    known = isinstance(selector, sys.modules["selectors"].BaseSelector)
    return known and callsite.is_called_directly() and len(selector.get_map() or ()) > 1


def _takes_from_any(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `recv` names no rank to receive from: then it takes what comes first, from whomever."""
    named = wrapping.Parameter("src", 1).of(args, kwargs, None), kwargs.get("group_src")
    return named == (None, None)


def _returns_early(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `wait` of futures or tasks returns when some of them are ready, and not all."""
    return bool(wrapping.Parameter("return_when", 2).of(args, kwargs, "ALL_COMPLETED") != "ALL_COMPLETED")


def _order_futures(futures: Any) -> Undo:
    """`as_completed` in the order in which the futures were made."""
    numbers = itertools.count()

    def init(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        original(*args, **kwargs)
        wrapping.SELF.of(args, kwargs)._samerun_number = next(numbers)

    def as_completed(fs: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
        end = None if timeout is None else time.monotonic() + timeout
        # one that was made before this control took effect has no number
        waiting = sorted(dict.fromkeys(fs), key=lambda each: getattr(each, "_samerun_number", -1))
        for number, each in enumerate(waiting):
            left = None if end is None else max(0.0, end - time.monotonic())
            if futures.wait([each], timeout=left).not_done:
                raise futures.TimeoutError(f"{len(waiting) - number} (of {len(waiting)}) futures unfinished")
            yield each

    def ordered(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _call_ours(as_completed, original, args, kwargs)

    numbered = wrapping.wrap_attribute(futures.Future, "__init__", init)
    return wrapping.undo_all([numbered, wrapping.wrap_attribute(futures, "as_completed", ordered)])


def _call_ours(
    ours: Callable[..., Any], original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What ours makes of the call; of one that the original would refuse, what the original says."""
    try:
        inspect.signature(original).bind(*args, **kwargs)
    except TypeError:
        return original(*args, **kwargs)
    return ours(*args, **kwargs)


class _AsCompleted:
    """`asyncio.as_completed` in the order in which it was given them, for both ways to go through it."""

    def __init__(self, fs: Iterable[Any], *, timeout: float | None = None) -> None:
        asyncio: Any = sys.modules["asyncio"]
        self._wait, self._timeout = asyncio.wait, asyncio.TimeoutError  # before 3.11 not the built-in one
        self._left = [asyncio.ensure_future(each) for each in dict.fromkeys(fs)][::-1]
        self._end = None if timeout is None else time.monotonic() + timeout

    def __iter__(self) -> Iterator[Any]:
        while self._left:
            yield self._next(self._left.pop())

    def __aiter__(self) -> _AsCompleted:
        return self

    async def __anext__(self) -> Any:
        if not self._left:
            raise StopAsyncIteration
        each = self._left.pop()
        await self._next(each)
        return each

    async def _next(self, each: Any) -> Any:
        left = None if self._end is None else max(0.0, self._end - time.monotonic())
        if not (await self._wait([each], timeout=left))[0]:
            raise self._timeout
        return each.result()
