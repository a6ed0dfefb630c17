"""Results of pools and tasks, handed over in the order in which they were asked for.

Not at any price: what is next may itself wait for what the program does with the others. Where these are
ready, and what is next is not after ten times as long as they took (and 20 s), they are handed over first.
That is said (`gave_up`), since another run may hand over others.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from samerun import wrapping
from samerun.sources.source import Undo

_monotonic = time.monotonic  # as it is before anybody replaces it
_LEAST_S: Final = 20.0
_TIMES: Final = 10.0
_LOOK_S: Final = 0.5  # how often it is looked whether others are ready

GaveUp = Callable[[str], None]  # called with the name of what was asked, where its results are


class Patience:
    """Whether to go on waiting for what is next."""

    def __init__(self) -> None:
        self._began = _monotonic()
        self._held: float | None = None  # when others were seen to be ready

    def is_over(self, others_ready: bool) -> bool:
        """Whether the others have been held back for long enough; called again and again."""
        now = _monotonic()
        if not others_ready:
            self._held = None
        elif self._held is None:
            self._held = now
        return self._held is not None and now - self._held > _LEAST_S + _TIMES * (self._held - self._began)

    def begin_again(self) -> None:
        """Something was handed over."""
        self._began, self._held = _monotonic(), None


def keep_futures(futures: Any, gave_up: GaveUp) -> Undo:
    """`as_completed` of `concurrent.futures` in the order in which the futures were made."""
    numbers = itertools.count()

    def init(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        original(*args, **kwargs)
        wrapping.SELF.of(args, kwargs)._samerun_number = next(numbers)

    def as_completed(fs: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
        end = None if timeout is None else _monotonic() + timeout
        # one that was made before this control took effect has no number
        waiting = sorted(dict.fromkeys(fs), key=lambda each: getattr(each, "_samerun_number", -1))
        count, patience = len(waiting), Patience()
        while waiting:
            left = None if end is None else max(0.0, end - _monotonic())
            done = futures.wait(waiting[:1], timeout=_LOOK_S if left is None else min(left, _LOOK_S)).done
            if done:
                patience.begin_again()
                yield waiting.pop(0)
            elif end is not None and _monotonic() >= end:
                raise futures.TimeoutError(f"{len(waiting)} (of {count}) futures unfinished")
            elif patience.is_over(any(each.done() for each in waiting)):
                gave_up("as_completed")
                waiting = _pass_over_first(waiting)

    def ordered(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _call_ours(as_completed, original, args, kwargs)

    numbered = wrapping.wrap_attribute(futures.Future, "__init__", init)
    return wrapping.undo_all(
        [numbered, wrapping.wrap_attribute(futures, "as_completed", ordered, [futures._base])]
    )


def keep_tasks(asyncio: Any, gave_up: GaveUp) -> Undo:
    """`asyncio.as_completed` in the order in which it was given them."""

    class Ordered(_AsCompleted):
        _gave_up = staticmethod(gave_up)

    def awaited(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _call_ours(Ordered, original, args, kwargs)

    return wrapping.wrap_attribute(asyncio, "as_completed", awaited, [asyncio.tasks])


def keep_pools(pools: Any, gave_up: GaveUp) -> Undo:
    """`imap_unordered` of multiprocessing's pools, in the order of what it was given."""

    unordered, in_order = pools.IMapUnorderedIterator, pools.IMapIterator

    class Ordered(unordered):  # type: ignore[misc, valid-type]
        """Takes results as `imap` does, until it gives that up."""

        _samerun_patience: Patience | None = None  # from the first result that is asked for
        _samerun_keeps = True

        def _set(self, i: int, obj: Any) -> None:
            (in_order if self._samerun_keeps else unordered)._set(self, i, obj)

        def next(self, timeout: float | None = None) -> Any:
            end = None if timeout is None else _monotonic() + timeout
            self._samerun_patience = patience = self._samerun_patience or Patience()
            with self._cond:
                while not self._items and self._index != self._length:
                    left = _LOOK_S if end is None else min(_LOOK_S, end - _monotonic())
                    if left <= 0:
                        break
                    self._cond.wait(left)
                    self._hand_over(patience)
            patience.begin_again()
            return super().next(0)

        __next__ = next

        def _hand_over(self, patience: Patience) -> None:
            others = self._unsorted
            if self._items or not patience.is_over(bool(others)):
                return
            gave_up("imap_unordered")
            self._samerun_keeps = False
            self._items.extend(others[at] for at in sorted(others))
            self._index += len(others)
            others.clear()

    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(Ordered, name, getattr(unordered, name))
    return wrapping.replace(pools, "IMapUnorderedIterator", Ordered)


def _pass_over_first(waiting: list[Any]) -> list[Any]:
    """What is ready, then the rest, and at last what was waited for: it may need all of them."""
    first, *others = waiting
    return [*sorted(others, key=lambda each: not each.done()), first]


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
    """For both ways to go through it. What is awaited takes what is then the next."""

    _gave_up: GaveUp

    def __init__(self, fs: Iterable[Any], *, timeout: float | None = None) -> None:
        asyncio: Any = sys.modules["asyncio"]
        self._wait, self._timeout = asyncio.wait, asyncio.TimeoutError  # before 3.11 not the built-in one
        self._left = [asyncio.ensure_future(each) for each in dict.fromkeys(fs)]
        self._end = None if timeout is None else _monotonic() + timeout
        self._patience = Patience()

    def __iter__(self) -> Iterator[Any]:
        for _ in range(len(self._left)):
            yield self._get_result()

    def __aiter__(self) -> _AsCompleted:
        return self

    async def __anext__(self) -> Any:
        if not self._left:
            raise StopAsyncIteration
        return await self._take()

    async def _get_result(self) -> Any:
        return (await self._take()).result()

    async def _take(self) -> Any:
        while True:
            each = self._left[0]
            left = None if self._end is None else max(0.0, self._end - _monotonic())
            await self._wait([each], timeout=_LOOK_S if left is None else min(left, _LOOK_S))
            if each is not self._left[0]:
                continue  # another one that was awaited took it
            if each.done():
                self._patience.begin_again()
                return self._left.pop(0)
            if self._end is not None and _monotonic() >= self._end:
                raise self._timeout
            if self._patience.is_over(any(other.done() for other in self._left)):
                self._gave_up("as_completed")
                self._left = _pass_over_first(self._left)
