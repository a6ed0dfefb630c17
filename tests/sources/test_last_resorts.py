"""memory-address and thread-scheduling: named when nothing else explains a difference.

Covers `evidence/rows.py`, `memory_address.py` and `thread_scheduling.py`.
"""

import argparse
import asyncio
import gc
import importlib
import multiprocessing.queues  # the source waits for its import
import queue
import sys
import threading
import weakref
from dataclasses import replace
from multiprocessing.pool import ThreadPool

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from samerun.runs.difference import Difference, Gap, LaterDifference, Strength
from samerun.sources.evidence.rows import find_first_differing
from samerun.sources.memory_address import MemoryAddress
from samerun.sources.thread_scheduling import ThreadScheduling
from samerun.sources.uninitialized_memory import UninitializedMemory
from samerun.sources.worker_arrival import WorkerArrival

from .differences import ONE, TWO, batch, operation, origin, row, side

address, threads = MemoryAddress(), ThreadScheduling()


def fixed(tmp_path, line, seed="0"):
    (tmp_path / "train.py").write_text(f"\n\n\n\n{line}\n")
    return side(settings={"hash-seed": {"PYTHONHASHSEED": seed}}, cwd=str(tmp_path))


LINES = ["items.sort(key=id)", "for x in sorted(xs, key=lambda x: id(x)):", "set(objects)", "x.data_ptr()"]


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_looks_at_addresses(tmp_path, line):
    a = fixed(tmp_path, line)
    found = address.recognise(batch(a=a, b=a, kind="order"))
    assert (found.strength, found.call_site) == (0.2, "train.py:5")


def test_other_lines_or_another_hash_seed(tmp_path):
    a = fixed(tmp_path, "valid(x)")
    assert address.recognise(batch(a=a, b=a, kind="order")) is None
    a = fixed(tmp_path, "id(x)", seed=None)
    assert address.recognise(batch(a=a, b=a, kind="order")) is None
    a = fixed(tmp_path, "id(x)")
    assert address.recognise(operation(a=a, b=a)) is None


SET = "class Sample:\n    pass\nsamples = {Sample() for _ in range(9)}\n"


def script(tmp_path, text, seed=None):
    (tmp_path / "train.py").write_text(text)
    return side(
        settings={"hash-seed": {"PYTHONHASHSEED": seed}, "code": {"train.py": "00"}}, cwd=str(tmp_path)
    )


@pytest.mark.parametrize(
    ("text", "site"),
    [
        (SET, "train.py:3"),
        ("class Sample: pass\nsamples = {Sample(), Sample()}\n", "train.py:2"),
        ("xs.sort(key=id)\n", "train.py:1"),
        ("xs = sorted(\n    xs, key=id)\n", "train.py:2"),
    ],
)
def test_an_order_made_of_addresses_is_read_in_the_code(tmp_path, text, site):
    a = script(tmp_path, text)
    found = address.recognise(batch(a=a, b=a))
    assert (found.strength, found.call_site) == (0.7, site)
    rng = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert address.recognise(batch(a=a, b=a, **rng)) is None


@pytest.mark.parametrize(
    "text",
    [
        "class Sample:\n    def __hash__(self): return 0\nsamples = {Sample()}\n",
        "@dataclass(frozen=True)\nclass Sample:\n    x: int\nsamples = {Sample(1)}\n",
        "samples = {int(x) for x in xs}\n",
        "seen = id(x)\n",
        "{Sample(): 1}",
        "not python at all (",
    ],
)
def test_other_code_makes_no_order_of_addresses(tmp_path, text):
    a = script(tmp_path, text)
    assert address.recognise(batch(a=a, b=a)) is None


def test_strings_in_sets_make_it_less_sure(tmp_path):
    a = script(tmp_path, SET + "names = set(words)\n")
    assert address.recognise(batch(a=a, b=a)).strength == 0.4
    a = script(tmp_path, SET + "names = set(words)\n", seed="0")
    assert address.recognise(batch(a=a, b=a)).strength == 0.7


def alive(count, *rows):
    return side(row("threads", value=count), *rows)


def test_several_threads_and_nothing_else():
    found = threads.recognise(batch(a=alive(4.0), b=alive(4.0)))
    assert found.strength == 0.5
    assert "4 Python threads" in found.text
    assert threads.recognise(batch(a=alive(1.0), b=alive(1.0))) is None
    assert threads.recognise(batch()) is None


def test_threads_whose_results_are_taken_as_they_come_are_worker_arrival_s():
    """One patch mends both: which it was could not be told by it."""
    taken = alive(4.0, row("arrival", "as_completed", call_site="train.py:8"))
    assert threads.recognise(batch(a=taken, b=taken)).strength == 0.2


def test_whose_generator_is_drawn_from_may_be_decided_by_a_race():
    """It was confirmed: two runs in which the same loop turned as often agreed, by luck."""
    drawn = origin(draws=True, generator_differs=True, own_generator=True)
    found = threads.recognise(operation(origin=drawn, a=alive(2.0), b=alive(2.0)))
    assert found.strength == 0.3 and "which generator" in found.text
    assert threads.recognise(operation(origin=drawn, a=alive(1.0), b=alive(1.0))) is None
    shared = origin(draws=True, generator_differs=True)
    assert threads.recognise(operation(origin=shared, a=alive(2.0), b=alive(2.0))) is None


def seeds(*values):
    return [
        row("seed", "torch.Generator.manual_seed", digest=value, call_site="train.py:9") for value in values
    ]


def test_seeds_that_threads_give_in_another_order_are_the_same_seeds():
    a, b = alive(4.0, *seeds(ONE, TWO)), alive(4.0, *seeds(TWO, ONE))
    assert threads.recognise(batch(a=a, b=b)).strength == 0.5
    other = alive(4.0, *seeds(ONE, ONE))
    assert threads.recognise(batch(a=a, b=other)) is None
    assert threads.recognise(batch(a=other, b=a)) is None


def test_seeds_in_another_order_without_threads_are_other_seeds():
    a, b = side(*seeds(ONE, TWO)), side(*seeds(TWO, ONE))
    assert find_first_differing(batch(a=a, b=b), "seed") == a.evidence[0]
    assert find_first_differing(batch(a=a, b=a), "seed") is None


def test_seeds_of_tasks_are_the_same_whichever_worker_of_a_pool_took_them():
    def ran(*tasks):
        return side(
            *(
                row("seed", "default_rng", digest=digest, call_site="make.py:9", process=f"rank0.{worker}")
                for worker, digest in tasks
            )
        )

    first, second = "helper-ForkPoolWorker-1", "helper-ForkPoolWorker-2"
    a = ran((first, ONE), (first, TWO))
    assert find_first_differing(batch(a=a, b=ran((first, TWO), (second, ONE))), "seed") is None
    assert find_first_differing(batch(a=a, b=ran((first, TWO), (second, TWO))), "seed") == a.evidence[0]
    own = ran(("worker0", ONE), ("worker1", TWO))  # of a DataLoader: each has its own
    assert find_first_differing(batch(a=own, b=ran(("worker0", TWO), ("worker1", ONE))), "seed") is not None


def test_several_processes_that_fill_one_queue():
    taken = side(row("threads", "multiprocessing.Queue.get", value=2.0, call_site="train.py:30"))
    found = threads.recognise(batch(a=taken, b=taken))
    assert (found.strength, found.call_site) == (0.5, "train.py:30")
    assert "2 processes were alive where multiprocessing.Queue.get takes" in found.text
    alone = side(row("threads", "multiprocessing.Queue.get", value=1.0))
    assert threads.recognise(batch(a=alone, b=alone)) is None


def test_taking_from_a_queue_of_processes_is_noted(observed):
    notes = observed(threads)
    context = multiprocessing.get_context("fork")
    queue, simple = context.Queue(), context.SimpleQueue()
    held = context.Event()
    children = [context.Process(target=held.wait, args=(60,)) for _ in range(2)]
    for child in children:
        child.start()
    queue.put(1)
    simple.put(2)
    assert (queue.get(), simple.get()) == (1, 2)
    held.set()
    for child in children:
        child.join()
    queue.put(3)
    assert queue.get() == 3
    queue.close()
    queue.join_thread()  # it feeds the queue, and would be counted in a later test
    assert [(note.name, note.value) for note in notes.of("threads")][-1:] == [
        ("multiprocessing.Queue.get", 2)
    ]
    assert not [note for note in notes.of("threads") if note.name == "multiprocessing.SimpleQueue.get"]


@pytest.mark.parametrize(
    ("module", "counts"),
    [
        ("tqdm._monitor", False),
        ("rich.live", False),
        ("torch.utils.data._utils.pin_memory", False),
        ("tqdmlike", True),
    ],
)
def test_threads_that_only_look_on_are_not_noted(module, counts, observed):
    """A progress bar's: it was named whenever nothing else explained a difference."""
    notes = observed(threads)
    started = {"__name__": module, "threading": threading}
    exec(
        "def start():\n    thread = threading.Thread(target=int)\n    thread.start()\n    thread.join()",
        started,
    )
    started["start"]()
    assert bool(notes.of("threads")) is counts


def test_the_queue_of_torchs_own_loader_is_not_noted(observed):
    notes = observed(threads)
    data = TensorDataset(torch.arange(8.0))
    assert len(list(DataLoader(data, batch_size=2, num_workers=2))) == 4
    assert not notes.of("threads")


def test_a_queue_that_was_found_empty_is_the_line(observed):
    notes, waiting = observed(threads), queue.Queue()
    for take in (waiting.get_nowait, lambda: waiting.get(timeout=0.01)):
        with pytest.raises(queue.Empty):
            take()
    waiting.put(1)
    assert waiting.get() == 1
    assert [note.name for note in notes.of("threads")] == ["queue.Queue.get"] * 2
    started = row("threads", "start", value=2.0, call_site="train.py:3")
    empty = row("threads", "queue.Queue.get", value=2.0, call_site="train.py:9", detail=notes.rows[0].detail)
    found = threads.recognise(batch(a=side(started, empty), b=side(started, empty)))
    assert found.call_site == "train.py:9" and "did not wait" in found.text
    assert threads.recognise(batch(a=side(started), b=side(started))).call_site == "train.py:3"


def take_from(shared, count):
    """Takes what this many threads put into a queue, one of them later than the rest."""
    filling, last = threading.Event(), threading.Event()

    def fill(event):
        event.wait()
        shared.put(1)

    started = [
        threading.Thread(target=fill, args=(last if i == 0 and count > 1 else filling,)) for i in range(count)
    ]
    for thread in started:
        thread.start()
    filling.set()
    taken = [shared.get() for _ in range(count - 1)]  # before the last one has put anything
    last.set()
    taken.append(shared.get())
    for thread in started:
        thread.join()
    return taken


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_queue_that_several_threads_fill_is_the_line(count, observed):
    notes = observed(threads)
    assert take_from(queue.Queue(), count) == [1] * count
    gets = [note for note in notes.of("threads") if note.name == "queue.Queue.get"]
    assert [note.value for note in gets[:1]] == [count] * (count > 1)
    if gets:
        started = row("threads", "start", value=9.0, call_site="train.py:3")
        taken = row(
            "threads", gets[0].name, value=gets[0].value, call_site="train.py:9", detail=gets[0].detail
        )
        found = threads.recognise(batch(a=side(started, taken), b=side(started, taken)))
        assert found.call_site == "train.py:9"
        assert f"{count} threads put into the queue" in found.text


def test_a_queue_keeps_no_thread_alive(observed):
    observed(threads)
    shared = queue.Queue()
    thread = threading.Thread(target=shared.put, args=(1,))
    thread.start()
    thread.join()
    gone = weakref.ref(thread)
    del thread
    gc.collect()
    assert gone() is None and shared.get() == 1


def test_threads_are_not_blamed_when_something_else_explains_it():
    assert threads.recognise(operation(a=alive(4.0), b=alive(4.0))) is None
    rng = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert threads.recognise(batch(a=alive(4.0), b=alive(4.0), **rng)) is None
    a, b = (alive(4.0, row("seed", "random.seed", digest=digest)) for digest in (ONE, TWO))
    assert threads.recognise(batch(a=a, b=b)) is None


def test_threads_that_read_equal_files_in_another_order_may_be_the_reason():
    one, other, changed = (
        row("opened", detail=path, digest=d) for path, d in (("a", ONE), ("b", TWO), ("a", TWO))
    )
    found = threads.recognise(batch(a=alive(4.0, one, other), b=alive(4.0, other)))
    assert found.strength == 0.5
    assert threads.recognise(batch(a=alive(4.0, one, other), b=alive(4.0, other, changed))) is None


def _hold(count, start):
    """So many processes at once, and their ends."""
    context = multiprocessing.get_context("fork")
    held = context.Event()
    children = [context.Process(target=held.wait, args=(60,)) for _ in range(count)]
    for child in children:
        start(child)
    held.set()
    for child in children:
        child.join()


@pytest.mark.parametrize(("shares", "values"), [(True, [1, 2, 3]), (False, [])])
def test_processes_that_share_memory_are_noted(shares, values, observed, monkeypatch):
    for module in ("multiprocessing.sharedctypes", "multiprocessing.shared_memory"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    if shares:
        importlib.import_module("multiprocessing.shared_memory")
    notes = observed(threads)
    _hold(3, lambda child: child.start())
    assert [note.value for note in notes.of("threads")] == values


def test_processes_that_share_memory_and_nothing_else():
    shared = side(row("threads", "multiprocessing.Process.start", value=3.0, call_site="train.py:30"))
    assert "3 processes were alive that share memory" in threads.recognise(batch(a=shared, b=shared)).text


def test_ranks_that_map_a_file_to_write_to_it():
    mapped = side(row("threads", "mmap", value=2.0, call_site="table.py:11"))
    found = threads.recognise(batch(a=mapped, b=mapped))
    assert "2 processes were alive that map a file" in found.text
    assert found.call_site == "table.py:11"


@pytest.mark.parametrize(("workers", "named"), [(3, True), (1, False)])
def test_the_threads_of_a_pool_are_noted(workers, named, observed):
    """The library starts them, and others that do none of the work."""
    notes = observed(threads)
    with ThreadPool(workers) as pool:
        for _ in range(2):
            pool.map(int, "12")
    assert [note.value for note in notes.of("threads")] == [workers]
    seen = side(*(row("threads", note.name, value=note.value) for note in notes.of("threads")))
    assert bool(threads.recognise(batch(a=seen, b=seen))) is named


@pytest.mark.parametrize("by", ["to_thread", "run_in_executor"])
def test_tasks_that_run_in_threads_are_noted(by, observed):
    async def load():
        if by == "to_thread":
            await asyncio.to_thread(int)
        else:
            await asyncio.get_running_loop().run_in_executor(None, int)

    notes = observed(threads)
    before = threading.active_count()
    asyncio.run(load())
    assert [note.value for note in notes.of("threads")] == [before + 1]


class _Odd(torch.nn.Linear):
    """A module of the script's own, whose parameters nobody can list."""

    def parameters(self, recurse=True):
        raise RuntimeError("not now")


class _Keeps(multiprocessing.get_context("fork").Process):
    """A process of the script's own, which keeps its options where multiprocessing keeps the arguments."""

    def __init__(self):
        super().__init__()
        self._args = argparse.Namespace(lr=0.1)

    def run(self):
        pass


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda start: start(torch.nn.Linear(1, 1).share_memory()), True),
        (lambda start: start(torch.ones(1).share_memory_()), True),
        (lambda start: start(torch.nn.Linear(1, 1)), False),
        (lambda start: start(_Odd(1, 1)), False),
        (lambda start: _Keeps(), False),
    ],
    ids=["module", "tensor", "not shared", "odd module", "odd process"],
)
def test_a_process_that_is_given_shared_weights_is_noted_and_any_starts(make, named, observed, monkeypatch):
    for module in ("multiprocessing.sharedctypes", "multiprocessing.shared_memory"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    notes = observed(threads)
    context = multiprocessing.get_context("fork")
    child = make(lambda value: context.Process(target=id, args=(value,)))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert [note.name for note in notes.of("threads")] == [GIVEN.name] * named


GIVEN = row("threads", "multiprocessing.Process.start of shared weights", value=2.0, call_site="main.py:96")
CHILD = "rank0.Process-1"


def comes(op):
    return origin(op, inputs_equal=False)


@pytest.mark.parametrize(
    ("columns", "seeded", "is_named"),
    [
        ({"what": "parameters", "phase": "setup"}, True, True),
        ({"what": "loss", "phase": "forward"}, True, False),
        ({"what": "loss", "phase": "forward", "gap": Gap("parameters", "train.py:30")}, True, True),
        ({"what": "parameters", "phase": "setup"}, False, False),  # the weights may differ from the start
        ({"what": "parameters", "phase": "setup", "process": "rank0"}, True, False),
        ({"what": "batch", "phase": "data", "origin": comes("aten.set_.source_Storage")}, True, True),
        ({"what": "batch", "phase": "data", "origin": comes("aten.lift_fresh.default")}, True, False),  # data
    ],
)
def test_weights_that_several_processes_train_are_a_race(columns, seeded, is_named) -> None:
    seed = row("seed", "torch.manual_seed", digest=ONE)
    rows = (GIVEN, seed) if seeded else (GIVEN,)
    difference = Difference(**{"step": 0, "process": CHILD, **columns}, a=side(*rows), b=side(*rows))
    found = ThreadScheduling().recognise(difference)
    named = found is not None and found.strength is Strength.SEEN and found.beyond_control
    assert named is is_named
    assert UninitializedMemory().recognise(replace(difference, gap=Gap("parameters", None))) is None


HELPER = "rank0.helper-12345678"


def made_by_a_helper(*rows, digest=ONE):
    written = row("written", "open", detail="rows.json", process=HELPER)
    return side(row("opened", "open", detail="rows.json", digest=digest), written, *rows)


@pytest.mark.parametrize(
    ("racing", "site"),
    [
        (row("shared", "multiprocessing.Process.start", call_site="prepare.py:12", process=HELPER), 12),
        (row("threads", "start", value=4.0, call_site="prepare.py:7", process=HELPER), 7),
        (row("shared", "multiprocessing.Value", call_site="prepare.py:3", process=HELPER), None),
        (row("shared", "multiprocessing.Process.start", call_site="main.py:9"), None),  # not of the helper
    ],
)
def test_what_races_in_a_program_that_makes_a_file(racing, site):
    a, b = made_by_a_helper(racing), made_by_a_helper(racing, digest=TWO)
    found = threads.recognise(batch(a=a, b=b))
    assert (found and found.call_site) == (site and f"prepare.py:{site}")
    assert threads.recognise(batch(a=a, b=a)) is None  # the file is the same: it explains nothing


def test_results_that_a_helping_program_takes_as_they_come():
    taken = row("arrival", "as_completed", call_site="prepare.py:9", process=HELPER)
    a, b = made_by_a_helper(taken), made_by_a_helper(taken, digest=TWO)
    found = WorkerArrival().recognise(batch(a=a, b=b))
    assert (found.strength, found.call_site) == (0.7, "prepare.py:9")
    assert WorkerArrival().recognise(batch(a=a, b=a)) is None


@pytest.mark.parametrize(
    ("workers", "columns", "found"),
    [
        (2, {}, True),
        (1, {}, False),
        (2, {"indices_equal": False}, False),  # other samples
        (2, {"in_workers": False}, False),
        (2, {"rng_first": {"torch-cpu": 0}, "drawn": frozenset({"torch-cpu"})}, False),
    ],
)
def test_workers_that_share_memory(workers, columns, found):
    held = row("shared", "multiprocessing.Value", call_site="data.py:4")
    both = side(held, settings={"worker-count": {"workers": [workers]}})
    given = {"indices_equal": True, "in_workers": True, **columns}
    evidence = threads.recognise(batch(a=both, b=both, **given))
    assert (evidence is not None) == found
    if found:
        assert (evidence.call_site, evidence.beyond_control) == ("data.py:4", True)


def test_memory_that_processes_share_is_noted_where_it_is_made(observed):
    notes = observed(threads)
    multiprocessing.Value("l", 0)
    multiprocessing.get_context("spawn").RawArray("d", 3)
    noted = [note.name for note in notes.of("shared")]
    assert noted == ["multiprocessing.Value", "multiprocessing.RawArray"]


def test_memory_that_a_later_operation_reads_unwritten_may_hold_what_differs_in_the_setup() -> None:
    later = LaterDifference(
        "origin",
        0,
        "setup",
        "aten.mul.Tensor",
        None,
        "train.py:30",
        reads_uninitialized=True,
        made_at="train.py:19",
    )
    entered = origin("aten.lift_fresh.default", inputs_equal=False, phase="setup")
    difference = replace(operation(origin=entered), step=0, further=(later,))
    found = UninitializedMemory().recognise(difference)
    assert found is not None and (found.call_site, found.of_later) == ("train.py:19", True)
    written = replace(difference, further=(replace(later, reads_uninitialized=False, made_at=None),))
    assert UninitializedMemory().recognise(written) is None
    in_training = replace(difference, phase="forward")
    assert UninitializedMemory().recognise(in_training) is None


@pytest.mark.parametrize("others", [["start"], []])
def test_a_generator_that_was_in_the_same_state_and_is_drawn_from_more_often_is_the_threads_doing(others):
    """Not that of the generator, which was seeded alike: to seed it changes nothing."""
    made = side(*(row("threads", name, call_site="train.py:3", value=2.0) for name in others))
    drew = origin("aten::randn", draws=True, generator_differs=True, generator="torch-cpu")
    parted = operation(origin=drew, a=made, b=made, agreed=frozenset({"torch-cpu"}))
    found = threads.recognise(parted)
    assert (found and (found.strength, found.call_site, found.beyond_control)) == (
        (Strength.SEEN, "train.py:3", True) if others else None
    )
    assert threads.recognise(replace(parted, agreed=frozenset())) is None  # it was never seeded
    later = dict(rng_first={"numpy-global": 0}, drawn=frozenset({"numpy-global"}), a=made, b=made)
    found = threads.recognise(batch(agreed=frozenset({"numpy-global"}), **later))
    assert (found and found.strength) == (Strength.STRONG if others else None)
    assert threads.recognise(batch(**later)) is None
    # What enters torch differs already: what the system gave may decide how often NumPy's is drawn from.
    enters = origin("aten::lift_fresh", inputs_equal=False)
    found = threads.recognise(operation(origin=enters, agreed=frozenset({"numpy-global"}), **later))
    assert (found and (found.strength, found.beyond_control)) == (
        (Strength.STRONG, False) if others else None
    )
