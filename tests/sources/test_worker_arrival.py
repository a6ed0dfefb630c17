"""Covers `patching/completion_order.py`."""

import asyncio
import inspect
import pickle
import selectors
import socket
import sys
from concurrent import futures
from multiprocessing import Pipe, connection
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from samerun import wrapping
from samerun.recording.evidence_log import Journal
from samerun.runs.plan import Control, Plan
from samerun.sources.patching import completion_order
from samerun.sources.worker_arrival import WorkerArrival

from .differences import ONE, TWO, batch, row, side


class Waiting(Dataset):
    """Two samples, of which the first is ready only once `ready` is set."""

    def __init__(self):
        self.ready = torch.multiprocessing.Event()

    def __len__(self):
        return 2

    def __getitem__(self, index):
        assert index == 1 or self.ready.wait(60)
        return index


class ReadyAfterTheOther(Waiting):
    def __getitem__(self, index):
        if index == 1:
            self.ready.set()
        return super().__getitem__(index)


def test_without_control_what_is_ready_comes_first():
    dataset = Waiting()
    batches = iter(DataLoader(dataset, num_workers=2, in_order=False))
    first = next(batches).item()
    dataset.ready.set()
    assert [first, next(batches).item()] == [1, 0]


def test_control_keeps_the_order():
    undo = WorkerArrival().control(Control())
    loader = DataLoader(ReadyAfterTheOther(), num_workers=2, in_order=False)
    undo()
    assert loader.in_order
    assert [batch.item() for batch in loader] == [0, 1]
    assert not DataLoader(Waiting(), num_workers=2, in_order=False).in_order


def test_describes_what_was_asked_for():
    source = WorkerArrival()
    undo = source.observe(Journal(Plan()))
    assert source.describe() == {}
    DataLoader([0])
    assert source.describe() == {"in_order": True}
    DataLoader([0], num_workers=2, in_order=False)
    assert source.describe() == {"in_order": False}
    undo()


@pytest.mark.parametrize(
    ("in_order", "columns", "strength"),
    [
        (False, dict(indices_equal=False, same_samples=True, in_workers=True), 1.0),
        (False, dict(kind="order", in_workers=True), 1.0),
        (False, dict(indices_equal=True, in_workers=True), 0.4),
        (True, dict(kind="order", same_samples=True, in_workers=True), None),
        (False, dict(indices_equal=False, in_workers=False), None),
        (False, dict(what="gradients", phase="backward"), None),
    ],
)
def test_recognises(in_order, columns, strength):
    said = side(settings={"worker-arrival": {"in_order": in_order}})
    found = WorkerArrival().recognise(batch(a=said, b=said, **columns))
    assert (found and found.strength) == strength


def test_results_of_a_pool_come_as_they_were_asked_for():
    def slow_first(n):
        if n == 0:
            assert ready.wait(60)
        elif control:  # else the other result must be taken first
            ready.set()
        return n

    def all_of(results):
        taken = []
        for result in results:
            taken.append(result)
            ready.set()
        return taken

    source = WorkerArrival()
    for control, expected in ((None, [1, 0]), (Control(), [0, 1])):
        undo = source.control(control) if control else lambda: None
        try:
            ready = torch.multiprocessing.Event()
            with futures.ThreadPoolExecutor(2) as pool:
                asked = [pool.submit(slow_first, n) for n in range(2)]
                assert all_of(each.result() for each in futures.as_completed(asked)) == expected
            ready = torch.multiprocessing.Event()
            with ThreadPool(2) as pool:
                assert all_of(pool.imap_unordered(slow_first, range(2))) == expected
        finally:
            undo()
    assert futures.as_completed.__module__.startswith("concurrent.futures")
    assert not hasattr(futures.Future(), "_samerun_number")


def test_tasks_are_awaited_as_they_were_made():
    async def take(timeout=None):
        first = asyncio.Event()

        async def slow_first(n):
            if n == 0:
                await first.wait()
            first.set()
            return n

        tasks = [asyncio.create_task(slow_first(n)) for n in range(2 if timeout is None else 1)]
        if timeout is None:
            asyncio.get_running_loop().call_later(0.05, first.set)
        return [await each for each in asyncio.as_completed(tasks, timeout=timeout)]

    original = asyncio.as_completed
    assert asyncio.run(take()) == [1, 0]
    undo = WorkerArrival().control(Control())
    try:
        assert asyncio.run(take()) == [0, 1]
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(take(timeout=0.05))
    finally:
        undo()
    assert asyncio.as_completed is original


def test_tasks_that_are_iterated_asynchronously_keep_their_order():
    async def value(n):
        await asyncio.sleep((2 - n) / 50)
        return n

    async def take():
        tasks = [asyncio.create_task(value(n)) for n in range(3)]
        return [(await each, each in tasks) async for each in asyncio.as_completed(tasks)]

    undo = WorkerArrival().control(Control())
    try:
        assert asyncio.run(take()) == [(0, True), (1, True), (2, True)]
    finally:
        undo()


def taken_by(use):
    """What of the names of "arrival" rows a use leaves, and where."""
    journal = Journal(Plan())
    modules = [module for module in completion_order.MODULES if module in sys.modules]
    undos = [completion_order.note_uses(module, journal) for module in modules]
    try:
        use()
    finally:
        wrapping.undo_all(undos)()
    return [(record.name, Path(str(record.call_site).partition(":")[0]).name) for record in journal.early]


async def _wait(return_when, times=1):
    for _ in range(times):
        await asyncio.wait([asyncio.create_task(asyncio.sleep(0))], return_when=return_when)


def _wait_for_pipes(count):
    pipes = [Pipe() for _ in range(count)]
    for _, there in pipes:
        there.send(1)
    connection.wait([here for here, _ in pipes], 5)


def _select(count):
    pipes = [socket.socketpair() for _ in range(count)]
    with selectors.DefaultSelector() as selector:
        for here, there in pipes:
            there.send(b"1")
            selector.register(here, selectors.EVENT_READ)
        selector.select(5)
    for here, there in pipes:
        here.close(), there.close()


def _receive(**of):
    """Without a group it raises, which is as good: it was asked."""
    with pytest.raises(ValueError):
        torch.distributed.recv(torch.zeros(1), **of)


def _call_back(**callbacks):
    with ThreadPool(2) as pool:
        pool.apply_async(int, **callbacks).get()
        pool.map(int, "12")


def _futures_wait(*args, **kwargs):
    with futures.ThreadPoolExecutor(2) as pool:
        futures.wait([pool.submit(int)], *args, **kwargs)


@pytest.mark.parametrize(
    ("use", "names"),
    [
        (lambda: asyncio.run(_wait(asyncio.FIRST_COMPLETED, times=3)), ["asyncio.wait"]),  # once for a line
        (lambda: asyncio.run(_wait(asyncio.ALL_COMPLETED)), []),
        (lambda: _futures_wait(None, "FIRST_EXCEPTION"), ["concurrent.futures.wait"]),
        (lambda: _futures_wait(), []),
        (lambda: _call_back(callback=print), ["apply_async"]),
        (lambda: _call_back(), []),
        (lambda: _wait_for_pipes(2), ["connection.wait"]),
        (lambda: _wait_for_pipes(1), []),
        (lambda: _select(2), ["selector.select"]),
        (lambda: _select(1), []),
        (lambda: _receive(), ["recv"]),
        (lambda: _receive(src=0), []),
        (lambda: _receive(group_src=0), []),
    ],
)
def test_notes_who_takes_what_is_ready_first(use, names):
    assert taken_by(use) == [(name, "test_worker_arrival.py") for name in names]


def test_notes_who_counts_for_all_ranks():
    def use():
        store = torch.distributed.HashStore()
        assert [store.add("next", 1) for _ in range(2)] == [1, 2]
        store.set("other", "1")
        made = {"__name__": "torch.distributed.barrier", "store": store}
        exec(compile("store.add('next', 1)", torch.__file__, "exec"), made)  # a library's own counter

    assert taken_by(use) == [("Store.add", "test_worker_arrival.py")]


@pytest.mark.parametrize(
    ("order", "workers", "noted"), [(False, 2, True), (False, 0, False), (True, 2, False)]
)
def test_the_line_that_makes_a_loader_without_order_is_noted(order, workers, noted):
    journal = Journal(Plan())
    source = WorkerArrival()
    undo = source.observe(journal)
    try:
        DataLoader([0], num_workers=workers, in_order=order)
    finally:
        undo()
    found = [(record.name, Path(record.call_site.partition(":")[0]).name) for record in journal.early]
    assert found == [(completion_order.LOADER, "test_worker_arrival.py")] * noted


def test_the_line_of_the_loader_is_the_cause():
    made = row("arrival", completion_order.LOADER, call_site="train.py:7")
    said = side(made, settings={"worker-arrival": {"in_order": False}})
    found = WorkerArrival().recognise(
        batch(a=said, b=said, indices_equal=False, same_samples=True, in_workers=True)
    )
    assert (found.call_site, found.strength, found.beyond_control) == ("train.py:7", 1.0, False)


@pytest.mark.parametrize(("name", "free"), [("as_completed", False), ("asyncio.wait", True)])
def test_what_has_no_control_is_beyond_it(name, free):
    taken = side(row("arrival", name, call_site="train.py:7"))
    found = WorkerArrival().recognise(batch(a=taken, b=taken))
    assert (found.call_site, found.beyond_control) == ("train.py:7", free)
    assert (found.advice is not None) is free  # that of the source speaks of what it has a control for


def test_a_coroutine_function_that_is_noted_is_one_still():
    undo = completion_order.note_uses("asyncio", Journal(Plan()))
    try:
        assert inspect.iscoroutinefunction(asyncio.wait)
    finally:
        undo()


def test_rows_of_a_polars_frame_keep_their_order_under_control(observed):
    polars = pytest.importorskip("polars")
    users = [(i * 7919) % 600 for i in range(3000)]
    frame = polars.DataFrame({"user": users, "n": range(3000)})
    notes, first = observed(WorkerArrival()), list(dict.fromkeys(users))
    counts = [frame.group_by("user").len()["user"].to_list() for _ in range(4)]
    assert any(each != first for each in counts)
    frame.group_by("user", maintain_order=True).len()
    taken = [note.name for note in notes.of("arrival")]
    assert set(taken) == {"polars.group_by"}
    before = polars.DataFrame.group_by
    undo = WorkerArrival().control(Control())
    for kept in (frame, frame.lazy()):
        assert kept.group_by("user").agg(polars.len()).lazy().collect()["user"].to_list() == first
        assert kept.unique("user").lazy().collect()["user"].to_list() == first
    undo()
    assert polars.DataFrame.group_by is before
    site = row("arrival", taken[0], call_site="train.py:3")
    found = WorkerArrival().recognise(batch(a=side(site), b=side(site)))
    assert (found.call_site, found.beyond_control) == ("train.py:3", False)
    assert "maintain_order=True" in found.advice


@pytest.mark.parametrize(("digest", "strength"), [(TWO, 0.7), (ONE, None)])
def test_files_that_threads_read_in_another_order_are_the_same_files(digest, strength):
    """Another content of one of them is another reason."""
    taken = row("arrival", "as_completed", call_site="train.py:8")
    files = [row("opened", "open", detail=name, digest=held) for name, held in (("1", ONE), ("2", TWO))]
    a = side(taken, *files)
    b = side(taken, row("opened", "open", detail="2", digest=digest), files[0])
    found = WorkerArrival().recognise(batch(a=a, b=b))
    assert (found and found.strength) == strength


def test_what_stands_for_as_completed_is_pickled_by_its_name():
    undo = WorkerArrival().control(Control())
    try:
        for function in (futures.as_completed, asyncio.as_completed):
            assert pickle.loads(pickle.dumps(function)) is function
    finally:
        undo()
