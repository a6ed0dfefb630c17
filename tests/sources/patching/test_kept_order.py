"""Results in the order in which they were asked for, and what is done where that would never end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing.pool
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from samerun.sources.patching import kept_order

NUMBERS = list(range(8))


def futures(release: threading.Event, first: Callable[[], Any]) -> Iterator[Any]:
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = [pool.submit(first), *(pool.submit(int, n) for n in NUMBERS[1:])]
        for each in concurrent.futures.as_completed(made, timeout=30):
            yield each.result()


def pools(release: threading.Event, first: Callable[[], Any]) -> Iterator[Any]:
    with multiprocessing.pool.ThreadPool(4) as pool:
        yield from pool.imap_unordered(lambda n: n or first(), NUMBERS)


def tasks(release: threading.Event, first: Callable[[], Any]) -> Iterator[Any]:
    """The results so far are shown by `release`: a coroutine cannot yield to this test in the middle."""

    async def run() -> list[Any]:
        async def one(n: int) -> Any:
            return n or await asyncio.to_thread(first)

        found = []
        for each in asyncio.as_completed([one(n) for n in NUMBERS], timeout=30):
            found.append(await each)
            if len(found) == 4:
                release.set()
        return found

    yield from asyncio.run(run())


WAYS = {
    "as_completed": (futures, lambda said: kept_order.keep_futures(concurrent.futures, said)),
    "imap_unordered": (pools, lambda said: kept_order.keep_pools(multiprocessing.pool, said)),
    "asyncio": (tasks, lambda said: kept_order.keep_tasks(asyncio, said)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_slowest_comes_first_where_it_was_asked_for_first(way: str) -> None:
    ask, keep = WAYS[way]
    said: list[str] = []
    undo = keep(said.append)
    try:
        assert list(ask(threading.Event(), lambda: time.sleep(0.3) or 0)) == NUMBERS
    finally:
        undo()
    assert said == []


@pytest.mark.parametrize("way", WAYS)
def test_what_waits_for_the_others_is_passed_over_and_that_is_said(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for ever: the program releases it once it has four of the others."""
    monkeypatch.setattr(kept_order, "_LEAST_S", 0.2)
    monkeypatch.setattr(kept_order, "_LOOK_S", 0.05)
    ask, keep = WAYS[way]
    said: list[str] = []
    release = threading.Event()
    undo = keep(said.append)
    found = []
    try:
        for each in ask(release, lambda: 0 if release.wait(30) else "never"):
            found.append(each)
            if len(found) == 4:
                release.set()
    finally:
        undo()
    assert sorted(found) == NUMBERS and found[:4] == NUMBERS[1:5]
    assert said == [{"asyncio": "as_completed"}.get(way, way)]


def test_what_was_passed_over_comes_last() -> None:
    made = [concurrent.futures.Future[int]() for _ in range(4)]
    made[2].set_result(0)
    assert kept_order._pass_over_first(made) == [made[2], made[1], made[3], made[0]]


def test_a_time_limit_ends_the_wait_as_without_control() -> None:
    undo = kept_order.keep_futures(concurrent.futures, lambda _: None)
    release = threading.Event()
    try:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = [pool.submit(release.wait, 30), pool.submit(int)]
            with pytest.raises(concurrent.futures.TimeoutError, match=r"2 \(of 2\) futures unfinished"):
                list(concurrent.futures.as_completed(made, timeout=0.2))
            release.set()
        with multiprocessing.pool.ThreadPool(1) as other:
            keeping = kept_order.keep_pools(multiprocessing.pool, lambda _: None)
            try:
                given: Any = other.imap_unordered(lambda _: time.sleep(0.5), [1])
                with pytest.raises(multiprocessing.TimeoutError):
                    given.next(timeout=0.1)
                assert given.next() is None
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
