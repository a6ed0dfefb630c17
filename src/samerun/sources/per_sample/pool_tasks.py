"""Pools of processes under control: what a task draws is keyed by the task, not by who gets it.

Which worker takes a task is a race, and its generators have moved by the tasks that it had before. So each
task carries a stream, and the worker's generators begin with it: python's, NumPy's legacy and torch's CPU
generator, where they are imported. As if one worker had taken all tasks, no two of them draw alike. What a
task seeds by itself stays. The stream of a pool is named by the states of the generators where it is first
used: another seed of the script gives other numbers, and the same seed again, where workers are forked, the
same from NumPy and torch. So begins each generator that a module holds, by its own state there.

https://docs.python.org/3/library/multiprocessing.html#multiprocessing.pool.Pool
https://docs.python.org/3/library/concurrent.futures.html#processpoolexecutor
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from samerun import lineage
from samerun.sources.base.rng import Rng
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.patching import resumed
from samerun.sources.per_sample import dataloaders, held_generators, seeder
from samerun.sources.per_sample.pass_streams import PassStreams
from samerun.sources.python_random import PythonRandom
from samerun.sources.source import Undo
from samerun.sources.torch_cpu import TorchCpu
from samerun.streams import Name, Stream
from samerun.wrapping import SELF, Parameter, undo_all, wrap_attribute

_EXECUTORS, _JOBLIB = "concurrent.futures.process", "joblib.parallel"
MODULES = {
    "multiprocessing.pool": "Pool",
    "multiprocess.pool": "Pool",  # of Hugging Face's datasets
    _EXECUTORS: "ProcessPoolExecutor",
    _JOBLIB: "Parallel",
}  # and what they have for it
_GENERATORS: tuple[Rng, ...] = (PythonRandom(), NumpyGlobal(), TorchCpu())
SEEDED = frozenset(each.id for each in _GENERATORS)  # not those that a module holds: each worker has a copy
_APPLIED, _SUBMITTED, _CALLS = Parameter("func", 1), Parameter("fn", 1), Parameter("iterable", 1)


class TaskStreams(NamedTuple):
    """What a task draws from: of the global generators, and of each that a module holds, by its name."""

    of_globals: PassStreams
    of_held: dict[str, Stream]

    def child(self, *path: Name) -> TaskStreams:
        """The streams further down the path."""
        held = {name: stream.child(*path) for name, stream in self.of_held.items()}
        return TaskStreams(self.of_globals.child(*path), held)


class KeyedTask:
    """A function on its way to a worker: there it is itself again, and the generators begin for it."""

    def __init__(self, function: Any, above: TaskStreams) -> None:
        self._function = function
        self._above = above

    def __reduce__(self) -> tuple[Any, ...]:
        return begin_task, (self._function, self._above)


class KeyedCall:
    """A function of joblib's: how many calls a worker gets at once depends on how long they take."""

    def __init__(self, function: Any, above: TaskStreams) -> None:
        self._function = function
        self._above = above
        self._born = os.getpid()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it; in a worker, after its generators were seeded for that."""
        function = self._function
        if os.getpid() != self._born:
            begin_task(function, self._above)
        return function(*args, **kwargs)


def begin_task(function: Any, above: TaskStreams) -> Any:
    """The function, in a worker whose generators were seeded for what it does now."""
    resumed.forget()  # an earlier task of this worker may have gone on from a checkpoint, and so may this one
    dataloaders.forget_passes()
    seeder.begin(above.of_globals.python.seed64)  # so begins also what is imported later
    for generator in _list_imported():
        stream = _find_stream(above.of_globals, generator)
        generator.reseed(seeder.make_seed(generator.id, of=stream.seed64))
        seeder.note_begun(generator.id)  # an earlier task may have seeded it
    for name, held in held_generators.find():
        if held_generators.was_made_unseeded(name, held):  # by this worker: those of another pool draw others
            new = above.of_globals.python.seed64
            held_generators.seed(held, seeder.make_seed("held", name, of=new))
        elif (known := above.of_held.get(name)) is not None:
            held_generators.seed(held, seeder.make_seed("held", of=known.seed64))
        else:  # the worker made it
            held_generators.seed(held, seeder.make_seed("held", name))
    return function


class PoolStreams:
    """Of each pool that is given tasks under one control."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers = itertools.count()
        self._pools: WeakKeyDictionary[Any, tuple[TaskStreams, Iterator[int]]] = WeakKeyDictionary()
        self._known: dict[tuple[Any, ...], Stream] = {}  # by what the workers of pools have from here
        self._first: dict[str, str] = {}  # states of generators that modules hold

    def next(self, pool: Any) -> TaskStreams:
        """The streams of what a pool is given now."""
        try:
            if pool not in self._pools:
                self._pools[pool] = self._name_all(pool), itertools.count()
            above, given = self._pools[pool]
        except TypeError:  # a class of the script's own that cannot be remembered
            return self._name_all(pool)
        return above.child(next(given))

    def _name_all(self, pool: Any) -> TaskStreams:
        return TaskStreams(self._name(pool), self._name_held(_forks(pool)))

    def _name_held(self, forks: bool) -> dict[str, Stream]:
        """By their states alone: two that are seeded alike, for images and masks, stay in step."""
        here = *resumed.get_path(), *lineage.get_path()
        states = {name: held_generators.digest(held) for name, held in held_generators.find()}
        if not forks:  # each worker makes them again, whatever was drawn here meanwhile
            states = {name: self._first.setdefault(name, state) for name, state in states.items()}
        return {name: Stream(self._seed, "held", state, *here) for name, state in states.items()}

    def _name(self, pool: Any) -> PassStreams:
        keyed = seeder.draw_entropy()  # the pool is a task's own
        if keyed is not None:
            return PassStreams.all_of(Stream(keyed, "pool"))
        # One that is not controlled may have been seeded by nobody: its state is another one in each run.
        begun = seeder.count_seedings()
        held = [each for each in _list_imported() if begun.get(each.id)]
        states = [(generator.digest() or b"").hex() for generator in held]
        new = Stream(
            self._seed, "pool", next(self._numbers), *resumed.get_path(), *lineage.get_path(), *states
        )
        if not _forks(pool) or not {"torch", "numpy.random.mtrand"} <= sys.modules.keys():
            return PassStreams.all_of(new)
        here = *resumed.get_path(), *lineage.get_path()
        torch, _, numpy = (self._known.setdefault((*here, *place), new) for place in seeder.find_places())
        seeder.note_pass()
        return PassStreams(torch, new, numpy)


def key_tasks(module: str, streams: PoolStreams) -> Undo:
    """Have what the pools of a module are given carry its stream."""
    owner = getattr(sys.modules[module], MODULES[module])
    if module == _EXECUTORS:
        return wrap_attribute(owner, "submit", _give(_SUBMITTED, streams))

    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if (calls := _CALLS.of(args, kwargs, None)) is not None:
            args, kwargs = _CALLS.put(args, kwargs, _key_calls(calls, streams.next(SELF.of(args, kwargs))))
        return original(*args, **kwargs)

    if module == _JOBLIB:
        return wrap_attribute(owner, "__call__", call)

    def generate(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tasks, pool = original(*args, **kwargs), SELF.of(args, kwargs)
        return tasks if _is_of_threads(pool) else _key_each(tasks, streams.next(pool))

    return undo_all(
        [
            wrap_attribute(owner, "_guarded_task_generation", generate),
            wrap_attribute(owner, "apply_async", _give(_APPLIED, streams)),
        ]
    )


def _give(parameter: Parameter, streams: PoolStreams) -> Any:
    def given(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        pool, function = SELF.of(args, kwargs), parameter.of(args, kwargs, None)
        keyed = isinstance(function, KeyedTask)  # by a control within this one
        if function is not None and not keyed and not _is_of_threads(pool):
            args, kwargs = parameter.put(args, kwargs, KeyedTask(function, streams.next(pool)))
        return original(*args, **kwargs)

    return given


def _key_each(tasks: Iterator[tuple[Any, ...]], above: TaskStreams) -> Iterator[tuple[Any, ...]]:
    for job, number, function, *given in tasks:
        keyed = isinstance(function, KeyedTask)
        yield (job, number, function if keyed else KeyedTask(function, above.child(number)), *given)


def _key_calls(calls: Iterable[tuple[Any, ...]], above: TaskStreams) -> Iterator[tuple[Any, ...]]:
    for number, (function, *given) in enumerate(calls):
        yield (KeyedCall(function, above.child(number)), *given)


def _forks(pool: Any) -> bool:
    """Whether its workers are forked: they have our generators, but for Python's, which begins anew."""
    context = getattr(pool, "_ctx", None) or getattr(pool, "_mp_context", None)
    return context is not None and context.get_start_method() == "fork"


def _find_stream(above: PassStreams, generator: Rng) -> Stream:
    return {TorchCpu.id: above.torch, NumpyGlobal.id: above.numpy}.get(generator.id, above.python)


def _is_of_threads(pool: Any) -> bool:
    """Whether its workers are threads, which share the generators with all others."""
    return any(kind.__name__ == "ThreadPool" for kind in type(pool).__mro__)


def _list_imported() -> list[Rng]:
    return [each for each in _GENERATORS if not each.hooks_into or each.hooks_into in sys.modules]
