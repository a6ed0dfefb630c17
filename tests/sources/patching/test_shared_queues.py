"""Who puts into a queue is remembered, and nobody who uses one notices."""

from __future__ import annotations

import _thread
import gc
import queue
import threading
from collections.abc import Iterator

import pytest

from samerun.sources.patching.shared_queues import SharedQueues


@pytest.fixture
def shared() -> Iterator[SharedQueues]:
    found = SharedQueues()
    undo = found.observe()
    yield found
    undo()


def put_from(threads: int, filled: queue.Queue[int]) -> None:
    running = [threading.Thread(target=lambda: filled.put(1)) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def test_threads_that_put_are_counted_and_the_main_one_is_not(shared: SharedQueues) -> None:
    start = threading.Barrier(3)
    filled: queue.Queue[int] = queue.Queue()

    def put() -> None:
        start.wait()  # so that no two of them have one identity after the other
        filled.put_nowait(1)
        start.wait()

    threads = [threading.Thread(target=put) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.count_givers(filled) == 3
    filled.put(2)
    assert shared.count_givers(filled) == 3
    assert shared.count_givers(queue.Queue()) == 0


def test_a_queue_without_a_hash_is_one_like_others(shared: SharedQueues) -> None:
    class Equal(queue.Queue):  # type: ignore[type-arg]
        def __eq__(self, other: object) -> bool:
            raise AssertionError("code of the user's was run")

    filled = Equal()
    with pytest.raises(TypeError):
        hash(filled)
    put_from(1, filled)
    assert filled.get_nowait() == 1
    assert shared.count_givers(filled) == 1


def test_a_thread_that_python_does_not_know_stays_unknown(shared: SharedQueues) -> None:
    filled: queue.Queue[int] = queue.Queue()
    before = threading.enumerate()
    done = threading.Event()

    def put() -> None:
        filled.put(1)
        assert threading.enumerate() == before
        done.set()

    _thread.start_new_thread(put, ())
    assert done.wait(10)
    assert shared.count_givers(filled) == 1


def test_who_puts_while_it_is_asked_breaks_nothing(shared: SharedQueues) -> None:
    filled: queue.Queue[int] = queue.Queue()
    over = threading.Event()
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            while not over.is_set():
                shared.count_givers(filled)
        except BaseException as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    for _ in range(100):
        put_from(3, filled)
    over.set()
    asking.join()
    assert not failed and filled.qsize() == 300


def test_a_queue_that_is_gone_is_forgotten(shared: SharedQueues) -> None:
    filled: queue.Queue[int] = queue.Queue()
    put_from(1, filled)
    del filled
    gc.collect()
    assert not shared._givers and not shared._alive
