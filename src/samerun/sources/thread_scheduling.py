"""Python threads that race: https://docs.python.org/3/library/threading.html.

And processes that send what they make through one queue: which of them comes first is not fixed either.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from samerun import callsite
from samerun.editing.edit import Edit, NoEdit
from samerun.interruption import is_the_scripts
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.schema import MAPPED
from samerun.sources.evidence import rows
from samerun.sources.evidence.raced_files import find_raced, is_read_by_both
from samerun.sources.evidence.rows import is_in_helper
from samerun.sources.patching import attribute, dataloader_args, imported
from samerun.sources.patching.shared_queues import SharedQueues
from samerun.sources.source import Journal, Kind, Settings, Source, Undo, Variant
from samerun.wrapping import SELF, Around, undo_all, wrap_attribute

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

_TAKEN = "Queue.get"
_GIVING = "apply map starmap imap imap_unordered apply_async map_async starmap_async".split()  # noqa: SIM905
_NOT_READY = "the queue was empty"
_SEVERAL = "several threads put into the queue"
_SHARING = "multiprocessing.Process.start"
_GIVEN = "multiprocessing.Process.start of shared weights"
_UNPICKLED = ("aten.set_.", "aten::set_")  # how weights in shared memory come into a process
_SHARED_ADVICE = "average what each process trains (DistributedDataParallel), or let them take turns"
_FILE_ADVICE = "let one process write the file and the others wait for it: torch.distributed.barrier()"
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


class ThreadScheduling(Source):
    """Which of several comes first: shared generators, queues and lists that threads or processes fill."""

    id = "thread-scheduling"
    gives = re.compile(
        r"threading\.(Thread|Event|Condition|Barrier|Semaphore|Timer).*"
        r"|((threading|_thread|concurrent|_asyncio)\..*)?\.(is_alive|is_set|locked|done)"
    )
    summary = "several threads or processes ran, and which comes first is not fixed"
    advice = "keep results by index instead of by arrival, and give each thread a generator of its own"
    kind = Kind.ORDER
    evidence = "threads"
    controllable = False
    hooks_into = "threading"
    also_hooks_into = (
        "queue",
        "multiprocessing.queues",
        "multiprocessing.process",
        "multiprocessing.pool",
        "asyncio",
        *_MAKES_SHARED,
    )

    def __init__(self) -> None:
        self._observed: set[str] = set()  # the modules that are seen to already

    def observe(self, journal: Journal) -> Undo | None:
        """Note each thread that the user's code starts, and where it takes what several processes send."""
        undos: list[Undo] = []
        for module, holds, watch in (
            ("threading", "Thread", _note_threads),
            ("queue", "Queue", _note_queues_of_threads),
            ("multiprocessing.queues", "SimpleQueue", _note_queues),
            ("multiprocessing.process", "BaseProcess", _note_processes),
            ("multiprocessing.pool", "ThreadPool", _note_thread_pools),
            ("asyncio", "to_thread", _note_tasks_in_threads),
            *((module, _top(names[0]), _note_shared(module)) for module, names in _MAKES_SHARED.items()),
        ):
            if module not in self._observed and imported.has(module, holds):
                self._observed.add(module)
                undos += [functools.partial(self._observed.discard, module), watch(journal)]
        return attribute.undo_all(undos)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Let Python switch between threads every `value` seconds; in play once there are several."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(value)

        def start(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            took()
            return original(*args, **kwargs)

        return undo_all(
            [lambda: sys.setswitchinterval(before), wrap_attribute(threading.Thread, "start", start)]
        )

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Far more often than the usual 5 ms."""
        return [Variant("threads switched every 10 µs", 1e-5, likely=0.1)]

    def recognise(self, difference: Difference) -> Evidence | None:
        """Several threads were alive, and no seed, file, folder or operation explains the difference."""
        origin = difference.origin
        own = origin is not None and origin.draws and origin.own_generator  # which of several is a race, too
        drawn = origin is not None and origin.draws and not origin.draws_other_size
        if not own and (drawn or (origin is not None and origin.makes_it)):
            return None
        return self._of_processes(difference) or self._of_threads(difference, own=own)

    def _of_processes(self, difference: Difference) -> Evidence | None:
        """Several processes change the same memory, or the same file."""
        sharing = _find_sharing(difference)
        if sharing is None:
            return self._racing_for_file(difference)
        text = f"{sharing.value:.0f} processes were alive that train on the same memory"
        return Evidence(self.id, Strength.SEEN, text, sharing.call_site, _SHARED_ADVICE, beyond_control=True)

    def _of_threads(self, difference: Difference, *, own: bool) -> Evidence | None:
        """Several threads were alive; `own`: it draws from a generator object that the script made."""
        threads = rows.list_racing(difference, "threads")
        found = max(threads, key=lambda row: row.value or 0, default=None)
        taken = {row.detail: row for row in reversed(threads)}
        found = taken.get(_NOT_READY) or taken.get(_SEVERAL) or found
        most = 0.0 if found is None else found.value or 0.0
        if found is None or most <= 1 or (not own and _is_explained(difference)):
            return self._sharing(difference)
        alive = f"{most:.0f} Python threads were alive"
        if own:
            text = f"{alive}, which may decide which generator is drawn from"
            return Evidence(self.id, Strength.SLIGHT, text, found.call_site)
        if (found.name or "").endswith(_TAKEN):
            alive = f"{most:.0f} processes were alive where {found.name} takes what they send as it comes"
        arrived = rows.list_racing(difference, "arrival")
        if arrived:  # the order in which results are taken is another source's
            text = f"{alive}, which may share more than the order in which their results are taken"
            return Evidence(self.id, Strength.LAST_RESORT, text, found.call_site)
        if found.detail == _NOT_READY:
            alive = f"{most:.0f} Python threads were alive, and {found.name} found nothing and did not wait"
        if found.detail == _SEVERAL:
            alive = f"{most:.0f} threads put into the queue that {found.name} takes from, as they come"
        if found.name in (_SHARING, _GIVEN, MAPPED):
            shared = "map a file to write to it" if found.name == MAPPED else "share memory"
            alive = f"{most:.0f} processes were alive that {shared}"
        text = f"{alive}, and nothing else that was recorded explains it"
        advice = _SHARED_ADVICE if found.name == _GIVEN else None
        return Evidence(self.id, Strength.FAIR, text, found.call_site, advice)

    def _racing_for_file(self, difference: Difference) -> Evidence | None:
        """What one rank writes while another one reads it."""
        raced = find_raced(difference)
        if raced is None:
            return None
        read, written = raced
        where = f" at {written.call_site}" if written.call_site else ""
        text = f"rank {difference.rank} read {read.detail}, which another rank writes{where}, as it comes"
        strength = Strength.PLAUSIBLE if is_read_by_both(difference, read) else Strength.STRONG
        return Evidence(self.id, strength, text, read.call_site, _FILE_ADVICE, beyond_control=True)

    def _sharing(self, difference: Difference) -> Evidence | None:
        """What several processes may change, or write, each when it comes to it."""
        if _is_explained(difference):
            return None
        shared = rows.list_racing(difference, "shared")
        if (made := rows.find_made_by_helper(difference)) is not None:
            begun = next((row for row in shared if is_in_helper(row) and row.name == _SHARING), None)
            if begun is None:
                return None
            text = f"several processes were alive, and may write {made.detail}, each as it comes"
            return Evidence(self.id, Strength.FAIR, text, begun.call_site, beyond_control=True)
        held = next((row for row in shared if row.name != _SHARING), None)
        several = max(dataloader_args.read_worker_counts(difference.a.settings), default=0) > 1
        if held is None or not several or not difference.in_workers or difference.indices_equal is not True:
            return None
        text = f"several workers may change what {held.name} at {held.call_site} holds, each as it comes"
        advice = "let a sample depend on its index and the epoch, and not on what other workers did before"
        return Evidence(self.id, Strength.FAIR, text, held.call_site, advice, beyond_control=True)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Results as they were asked for; one thread at a time where they share something."""
        from samerun.sources.edits import threads

        edits = threads.keep_order_submitted(code)
        if not edits or threads.share(code):
            edits += threads.run_one_by_one(code)
        if not edits:
            reason = "threads that wait for each other cannot be put into an order by an edit"
            raise NoEdit(f"{reason}: {self.advice}")
        return edits


def _is_explained(difference: Difference) -> bool:
    """Whether a seed, a generator or a file differs; the order of files may be the threads' doing."""
    if rows.has_rng_difference(difference) or rows.has_changed_file(difference):
        return True
    return any(rows.find_first_differing(difference, what) for what in ("seed", "listing"))


def _find_sharing(difference: Difference) -> Row | None:
    """Where a process was started that is given weights which another one writes; they differ as they come.

    Not where the starting process had not seeded them: then they may differ from the beginning.
    """
    origin = difference.origin
    comes = difference.gap is not None or (origin is not None and origin.op.startswith(_UNPICKLED))
    if not comes and (difference.phase, difference.what) != ("setup", "parameters"):
        return None
    started = [row for row in difference.a.rows("threads") if row.name == _GIVEN and (row.value or 0) > 1]
    seeded = {row.process for row in difference.a.rows("seed", "torch.manual_seed")}
    return next((row for row in started if row.process in seeded and row.process != difference.process), None)


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
                name = "multiprocessing." + kind.__name__.replace("Queue", _TAKEN)
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
            note(caller, threading.active_count(), _NOT_READY)
            raise
        if (caller.f_code, caller.f_lineno, _SEVERAL) not in seen:
            givers = shared.count_givers(SELF.of(args, kwargs))
            if givers > 1:
                note(caller, givers, _SEVERAL)
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
            journal.note("threads", _GIVEN if given else _SHARING, value=alive, user_only=True)
        elif "torch" not in sys.modules and sys.modules["multiprocessing"].active_children():
            journal.note("shared", _SHARING, user_only=True)  # of a program that makes files, perhaps
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


def _top(name: str) -> str:
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
