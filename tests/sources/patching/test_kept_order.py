"""Results in the order in which they were asked for, and what is done where that would never end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import multiprocessing.pool
import threading
from collections.abc import Callable
from typing import Any

import pytest

from samerun.sources.patching import kept_order

NUMBERS = list(range(8))


class Work:
    """Eight pieces of it. The first ends once the others have, or not before it is released."""

    def __init__(self, released_by_the_others: bool) -> None:
        self.others_are_done = threading.Event()
        self.release = self.others_are_done if released_by_the_others else threading.Event()
        self._done = itertools.count(1)

    def do(self, n: int) -> int:
        if n == 0:
            return 0 if self.release.wait(60) else -1
        if next(self._done) == len(NUMBERS) - 1:
            self.others_are_done.set()
        return n


def ask_futures(work: Work) -> list[int]:
    found = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for each in concurrent.futures.as_completed([pool.submit(work.do, n) for n in NUMBERS]):
            found.append(each.result())
            if len(found) == 4:
                work.release.set()
    return found


def ask_pools(work: Work) -> list[int]:
    found = []
    with multiprocessing.pool.ThreadPool(4) as pool:
        for each in pool.imap_unordered(work.do, NUMBERS):
            found.append(each)
            if len(found) == 4:
                work.release.set()
    return found


def ask_tasks(work: Work) -> list[int]:
    async def run() -> list[int]:
        found = []
        for each in asyncio.as_completed([asyncio.to_thread(work.do, n) for n in NUMBERS]):
            found.append(await each)
            if len(found) == 4:
                work.release.set()
        return found

    return asyncio.run(run())


Ask = Callable[[Work], list[int]]
WAYS: list[tuple[str, Ask, Callable[[kept_order.GaveUp], Callable[[], None]]]] = [
    ("as_completed", ask_futures, lambda said: kept_order.keep_futures(concurrent.futures, said)),
    ("imap_unordered", ask_pools, lambda said: kept_order.keep_pools(multiprocessing.pool, said)),
    ("as_completed", ask_tasks, lambda said: kept_order.keep_tasks(asyncio, said)),
]


@pytest.mark.parametrize(("name", "ask", "keep"), WAYS)
def test_the_slowest_comes_first_where_it_was_asked_for_first(name: str, ask: Ask, keep: Any) -> None:
    said: list[str] = []
    undo = keep(said.append)
    try:
        assert ask(Work(released_by_the_others=True)) == NUMBERS
    finally:
        undo()
    assert said == []


@pytest.mark.parametrize(("name", "ask", "keep"), WAYS)
def test_what_waits_for_the_others_is_passed_over_and_that_is_said(
    name: str, ask: Ask, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for ever: the program releases it once it has four of the others."""
    work = Work(released_by_the_others=False)
    seconds = itertools.count()
    passed = [0]

    def monotonic() -> int:
        """A second a look, once the others are done."""
        if work.others_are_done.is_set():
            passed[0] = next(seconds)
        return passed[0]

    monkeypatch.setattr(kept_order, "_monotonic", monotonic)
    monkeypatch.setattr(kept_order, "_LOOK_S", 0.01)
    said: list[str] = []
    undo = keep(said.append)
    try:
        found = ask(work)
    finally:
        undo()
    assert sorted(found) == NUMBERS and found[:4] == NUMBERS[1:5]
    assert said == [name]


def test_what_was_passed_over_comes_last() -> None:
    made = [concurrent.futures.Future[int]() for _ in range(4)]
    made[2].set_result(0)
    assert kept_order._pass_over_first(made) == [made[2], made[1], made[3], made[0]]


def test_a_time_limit_ends_the_wait_as_without_control() -> None:
    undo = kept_order.keep_futures(concurrent.futures, lambda _: None)
    release, later = threading.Event(), threading.Event()
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = [pool.submit(release.wait, 30), pool.submit(int)]
            with pytest.raises(concurrent.futures.TimeoutError, match=r"2 \(of 2\) futures unfinished"):
                list(concurrent.futures.as_completed(made, timeout=0.2))
            release.set()
        with multiprocessing.pool.ThreadPool(1) as other:
            keeping = kept_order.keep_pools(multiprocessing.pool, lambda _: None)
            try:
                given: Any = other.imap_unordered(lambda _: later.wait(30), [1])
                with pytest.raises(multiprocessing.TimeoutError):
                    given.next(timeout=0.1)
                later.set()
                assert given.next() is True
                with pytest.raises(StopIteration):
                    given.next()
            finally:
                keeping()
    finally:
        undo()


def test_patience_lasts_ten_times_as_long_as_the_others_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(kept_order, "_monotonic", lambda: now[0])
    patience = kept_order.Patience()
    now[0] += 30
    assert not patience.is_over(False) and not patience.is_over(True)
    now[0] += 320
    assert not patience.is_over(True)
    now[0] += 1
    assert patience.is_over(True) and not patience.is_over(False)
    patience.begin_again()
    assert not patience.is_over(True)
