"""What shows that several threads or processes may come first: those that start, and what takes from them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from samerun import callsite
from samerun.interruption import is_the_scripts
from samerun.sources.patching import attribute
from samerun.sources.patching.shared_queues import SharedQueues
from samerun.sources.source import Journal, Undo
from samerun.wrapping import SELF, Around, undo_all, wrap_attribute

TAKEN = "Queue.get"
_GIVING = "apply map starmap imap imap_unordered apply_async map_async starmap_async".split()  # noqa: SIM905
NOT_READY = "the queue was empty"
SEVERAL = "several threads put into the queue"
SHARING = "multiprocessing.Process.start"
GIVEN = "multiprocessing.Process.start of shared weights"
_SHARED = (
    "multiprocessing.sharedctypes",
    "multiprocessing.shared_memory",
)  # imported by whoever shares memory
_OF_CONTEXT = ("Value", "Array", "RawValue", "RawArray", "Manager")
# What makes memory that processes share, or objects that one of them keeps for all.
_MAKES_SHARED = {
    "multiprocessing": _OF_CONTEXT,  # methods of the usual context, bound as they were
    "multiprocessing.context": tuple(f"BaseContext.{name}" for name in _OF_CONTEXT),
    "multiprocessing.shared_memory": ("SharedMemory.__init__",),
}
# Whose threads and queues decide nothing: progress bars, logs of metrics, debuggers. And torch's own loader,
# which puts batches into their order, or leaves it to worker-arrival to say that it does not.
_BARS = "tqdm rich alive_progress"
_LOGS = "wandb tensorboard tensorboardX mlflow comet_ml neptune clearml swanlab aim"
_BYSTANDERS = frozenset(f"{_BARS} {_LOGS} IPython ipykernel debugpy".split())
_BYSTANDING = (
    "torch.utils.data.",
    "lightning.pytorch.callbacks.progress.",
    "pytorch_lightning.callbacks.progress.",
)


def _note_threads(journal: Journal) -> Undo:
    def start(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _stands_by(callsite.find_caller(2)):
            journal.note("threads", "start", value=threading.active_count() + 1, user_only=True)
        return original(*args, **kwargs)

    return wrap_attribute(threading.Thread, "start", start)


def _note_queues(journal: Journal) -> Undo:
    """Once, and again when there are more processes; how many of them send is not known."""
    import multiprocessing
    from multiprocessing import queues

    most = 0

    def wrapped(kind: type) -> Undo:
        def get(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            nonlocal most
            if _stands_by(callsite.find_caller(2)) or not journal.from_user():
                return original(*args, **kwargs)
            if (alive := len(multiprocessing.active_children())) > most:
                most = alive
                name = "multiprocessing." + kind.__name__.replace("Queue", TAKEN)
                journal.note("threads", name, value=alive, user_only=True)
            return original(*args, **kwargs)

        return wrap_attribute(kind, "get", get)

    return attribute.undo_all([wrapped(queues.Queue), wrapped(queues.SimpleQueue)])


def _note_queues_of_threads(journal: Journal) -> Undo:
    """Each line that takes what several threads put into a queue, and each that went on without an answer."""
    import queue

    shared = SharedQueues()
    seen: set[tuple[CodeType, int, str]] = set()

    def note(caller: FrameType, alive: int, detail: str) -> None:
        place = caller.f_code, caller.f_lineno, detail
        if place not in seen and not _stands_by(caller):
            seen.add(place)
            journal.note("threads", "queue.Queue.get", value=alive, detail=detail, user_only=True)

    def get(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        caller = callsite.find_caller(2)
        if caller is None:
            return original(*args, **kwargs)
        try:
            item = original(*args, **kwargs)
        except queue.Empty:
            note(caller, threading.active_count(), NOT_READY)
            raise
        if (caller.f_code, caller.f_lineno, SEVERAL) not in seen:
            givers = shared.count_givers(SELF.of(args, kwargs))
            if givers > 1:
                note(caller, givers, SEVERAL)
        return item

    # get_nowait calls get, from code that is not the user's
    watched = [wrap_attribute(queue.Queue, name, get) for name in ("get", "get_nowait")]
    return undo_all([*watched, shared.observe()])


def _note_processes(journal: Journal) -> Undo:
    """Each that begins beside another one, where they share memory: who fills it first is not fixed."""

    def start(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = _gives_shared(SELF.of(args, kwargs))
        if (given or any(name in sys.modules for name in _SHARED)) and not _stands_by(
            callsite.find_caller(2)
        ):
            import multiprocessing

            alive = len(multiprocessing.active_children()) + 1
            journal.note("threads", GIVEN if given else SHARING, value=alive, user_only=True)
        elif "torch" not in sys.modules and sys.modules["multiprocessing"].active_children():
            journal.note("shared", SHARING, user_only=True)  # of a program that makes files, perhaps
        return original(*args, **kwargs)

    return wrap_attribute(sys.modules["multiprocessing.process"].BaseProcess, "start", start)


def _note_shared(module: str) -> Callable[[Journal], Undo]:
    """Each line that makes what processes can share."""

    def note(journal: Journal, name: str) -> Around:
        def make(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not _stands_by(callsite.find_caller(2)):
                made = name.removesuffix(".__init__").removeprefix("BaseContext.")
                journal.note("shared", f"multiprocessing.{made}", user_only=True)
            return original(*args, **kwargs)

        return make

    def watch(journal: Journal) -> Undo:
        owner = sys.modules[module]
        undos = []
        for name in _MAKES_SHARED[module]:
            of, _, method = name.rpartition(".")
            undos.append(wrap_attribute(getattr(owner, of) if of else owner, method, note(journal, name)))
        return undo_all(undos)

    return watch


def _get_top(name: str) -> str:
    return name.partition(".")[0]


def _gives_shared(process: Any) -> bool:
    """Whether a process is given a tensor, or a module with parameters, in memory that is shared."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    try:
        given = (*process._args, *process._kwargs.values())
        tensors = (
            tensor
            for value in given
            for tensor in (value.parameters() if isinstance(value, torch.nn.Module) else (value,))
        )
        return any(isinstance(each, torch.Tensor) and _is_shared(each) for each in tensors)
    except Exception as error:  # a class of the script's own, which keeps something else by these names
        if is_the_scripts(error):
            raise
        return False


def _is_shared(tensor: Any) -> bool:
    return tensor.device.type == "cpu" and bool(tensor.is_shared())


def _note_thread_pools(journal: Journal) -> Undo:
    """Each line that gives work to a pool of threads, which the library starts out of its own code."""
    owner: Any = sys.modules["multiprocessing.pool"]
    seen: set[tuple[CodeType, int]] = set()

    def given(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        pool, caller = SELF.of(args, kwargs), callsite.find_caller(2)
        if caller is None or not isinstance(pool, owner.ThreadPool):
            return original(*args, **kwargs)
        place = caller.f_code, caller.f_lineno
        if place not in seen and not _stands_by(caller):
            seen.add(place)  # its workers alone: it has threads besides that do none of the work
            journal.note("threads", "ThreadPool", value=pool._processes, user_only=True)
        return original(*args, **kwargs)

    return undo_all([wrap_attribute(owner.Pool, name, given) for name in _GIVING])


def _note_tasks_in_threads(journal: Journal) -> Undo:
    """So does a loop of tasks: of those that are in its threads, each may be the first."""

    def handed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _stands_by(callsite.find_caller(2)):
            journal.note("threads", "asyncio", value=threading.active_count() + 1, user_only=True)
        return original(*args, **kwargs)

    owner: Any = sys.modules["asyncio"]
    return undo_all(
        [
            wrap_attribute(owner, "to_thread", handed),
            wrap_attribute(owner.BaseEventLoop, "run_in_executor", handed),
        ]
    )


def _stands_by(caller: FrameType | None) -> bool:
    """Whether a call comes from code whose threads and queues decide nothing, or from no code at all."""
    if caller is None:
        return True
    module = str(caller.f_globals.get("__name__"))
    return module.partition(".")[0] in _BYSTANDERS or module.startswith(_BYSTANDING)


# Module, what it must hold, and what has it watched.
WATCHED: tuple[tuple[str, str, Callable[[Journal], Undo]], ...] = (
    ("threading", "Thread", _note_threads),
    ("queue", "Queue", _note_queues_of_threads),
    ("multiprocessing.queues", "SimpleQueue", _note_queues),
    ("multiprocessing.process", "BaseProcess", _note_processes),
    ("multiprocessing.pool", "ThreadPool", _note_thread_pools),
    ("asyncio", "to_thread", _note_tasks_in_threads),
    *((module, _get_top(names[0]), _note_shared(module)) for module, names in _MAKES_SHARED.items()),
)
