"""A process's place in the tree of processes, so that no two of them draw from the same stream.

A place is a path of names. The process that a command starts is at (); a child is below its parent, by how
it was started and how many were started so before it: ("fork", 2), ("program", "python", 0, "process", 1). A
rank is ("rank", "3") below whatever started it, whichever order it was started in; launchers that a shell
starts side by side, one for each node, race for their places, and a rank is below what started them.

A fork knows its parent's place and counts; a program gets its place by a variable of its environment, at the
moment when it is started; a `multiprocessing.Process` by spawn or forkserver gets it with its preparation
data, since a fork server forks for others. What is started past these (by a shell, by `exec`) finds its
parent's own place in its environment, and then counts, in the order of the starts, who came there before.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import random  # noqa: F401  its hook for forks must come before ours, which may undo what it does
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from samerun.wrapping import Parameter, replace, undo_all, wrap_attribute

if TYPE_CHECKING:  # every process of a command pays for what is imported here
    from types import ModuleType

VARIABLE = "SAMERUN_PLACE"
_TAKEN = "SAMERUN_PLACE_TAKEN"  # in the environment of a program that began again, with its place
_OURS = "SAMERUN_"  # how the names of all our variables begin
_AGAIN = "again"  # before the count of a program whose place was taken
CLAIM = ".place"  # how the files end by which programs of one place count themselves
MULTIPROCESSING = "multiprocessing.spawn"  # the module that `follow_multiprocessing` takes
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")  # who starts ranks says which by these
_DATA = "samerun_place"

Path = tuple[str | int, ...]
Undo = Callable[[], None]


class _Here:
    """This process."""

    path: Path = ()
    started: Path = ()  # where its parent started it, whatever its rank
    parent: tuple[int, Path] | None = None  # the number and the place of the process that started this one
    taken = False  # no other process has that place
    launched = False  # by a samerun that follows all processes of a command
    needed: Mapping[str, str] = {}  # by its controls, when a program starts


_here = _Here()
_counts: dict[str, Iterator[int]] = {}
_forking = threading.local()
_starting = threading.Lock()  # while a program is started: one environment for all threads
_then: list[Callable[[], None]] = []
_before: list[Callable[[], None]] = []
_extra: list[Callable[[Path], Mapping[str, str]]] = []  # what else a program finds, by its place
_handing: list[object] = []  # who asked that places be handed on
_stop_handing: Undo | None = None


def get_path() -> Path:
    """The place of this process, as names of a stream.

    Rank 0 of a command counts as the process that it would be without ranks.
    """
    return _make_stream_path(_here.path)


def get_place() -> Path:
    """The place of this process, rank 0's own name in it."""
    return _here.path


def get_started_place() -> Path:
    """The place at which its parent started this program, which knew nothing of its rank."""
    return _here.started


def find_parent_path(number: int) -> Path | None:
    """The place of the process of that number, where it is the one that started this one; else None."""
    if _here.parent is None or _here.parent[0] != number:
        return None
    return _make_stream_path(_here.parent[1])


def _make_stream_path(place: Path) -> Path:
    return () if place == ("rank", "0") else place


def get_launched_path() -> Path:
    """The same in a command under samerun; () in a program that calls samerun as a library."""
    return get_path() if _here.launched else ()


def is_launched() -> bool:
    """Whether this process belongs to a command under samerun."""
    return _here.launched


def begin(run: str, needed: Mapping[str, str] | None = None) -> None:
    """Take this process's place in the run of that folder, for good, and hand places on to its children.

    A controlled program must find the variables `needed` when it starts, in an environment made anew too.
    """
    take_place(run)
    _here.launched = True
    _here.needed = needed or {}
    hand_on()


def take_place(run: str) -> None:
    """Take this process's place in the run of that folder, once."""
    if not _here.taken:
        _here.path = _claim(run, _here.path)
        _here.taken = True


def begin_again(run: str, variables: Callable[[Path], Mapping[str, str]]) -> None:
    """Start this very program once more, in its process, with the variables of its place; at its start alone.

    Nothing happens where python is part of another program, or where it was done before.
    """
    if _here.taken or not can_begin_again():
        return
    take_place(run)
    given = {VARIABLE: _own(), _TAKEN: "1", **variables(_here.path)}
    with contextlib.suppress(OSError):  # then it goes on as it is
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **given})


def can_begin_again() -> bool:
    """Whether the program of this process is the interpreter that it names, as far as that can be known."""
    try:
        return os.name == "posix" and os.path.samefile(sys.executable, "/proc/self/exe")
    except (OSError, TypeError):  # no Linux, or no interpreter at all
        return False


def hand_on() -> Undo:
    """Give each child its place from now on; return what ends that."""
    global _stop_handing
    if not _handing:
        _stop_handing = _follow_programs()
    mine = object()
    _handing.append(mine)

    def undo() -> None:
        global _stop_handing
        if mine in _handing:
            _handing.remove(mine)
            if not _handing and _stop_handing is not None:
                _stop_handing()
                _stop_handing = None

    return undo


def call_in_each_child(then: Callable[[], None]) -> Undo:
    """Call `then` in each child that goes on from this process's memory, once it knows its place."""
    return _add(_then, then)


def call_before_each_fork(then: Callable[[], None]) -> Undo:
    """Call `then` in this process, before each child that goes on from its memory."""
    return _add(_before, then)


def give_each_program(variables: Callable[[Path], Mapping[str, str]]) -> Undo:
    """Let each program that this process starts find these variables too, unless it is given its own."""
    return _add(_extra, variables)


def _add(called: list[Any], each: Any) -> Undo:
    called.append(each)

    def undo() -> None:
        with contextlib.suppress(ValueError):
            called.remove(each)

    return undo


def follow_multiprocessing(spawn: ModuleType) -> None:
    """Hand places on with the preparation data of `multiprocessing.spawn`, and take them from there."""
    parameter = Parameter("data", 0)

    def giving(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        data = original(*args, **kwargs)
        data[_DATA] = [*_here.path, "process", _count_next("process")]
        return data

    def taking(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = parameter.of(args, kwargs, None)
        place = given.get(_DATA) if isinstance(given, dict) else None
        if place is not None:
            _become(tuple(place))
        return original(*args, **kwargs)

    wrap_attribute(spawn, "get_preparation_data", giving)
    wrap_attribute(spawn, "prepare", taking)


def _become(place: Path) -> None:
    global _counts
    _here.path = place
    _counts = {}
    if _handing:
        os.environ[VARIABLE] = _own()
    for then in list(_then):
        then()


def _count_next(kind: str) -> int:
    return next(_counts.setdefault(kind, itertools.count()))


# --- forks -----------------------------------------------------------------------------------------


def _prepare_fork() -> None:
    _forking.ordinal = _count_next("fork")
    for then in _before:
        then()


def _follow_fork() -> None:
    global _starting
    _starting = threading.Lock()  # another thread may have held it
    _here.parent = os.getppid(), _here.path
    _become((*_here.path, "fork", _forking.ordinal))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_prepare_fork, after_in_child=_follow_fork)


# --- programs --------------------------------------------------------------------------------------


def _read_rank(environment: Mapping[str, str]) -> str | None:
    return next((environment[name] for name in RANKS if environment.get(name)), None)


def _write_text(step: Path) -> str:
    """What a program finds in its environment: its parent's number, rank and place, and the step from it."""
    return json.dumps([os.getpid(), _read_rank(os.environ), _here.path, step], separators=(",", ":"))


def _own() -> str:
    """The same for whoever is started past us; without the number, which is another in each run."""
    return json.dumps([None, _read_rank(os.environ), _here.path, ()], separators=(",", ":"))


def _read_environment() -> None:
    rank, text = _read_rank(os.environ), os.environ.get(VARIABLE)
    _here.taken = os.environ.pop(_TAKEN, None) is not None
    before: str | None = None
    above: Path = ()
    step: Path = ()
    if text is not None:
        number, before, place, way = json.loads(text)
        above, step = tuple(place), tuple(way)
        _here.parent = None if number is None else (number, above)
    _here.started = _place_program(above, step, rank, before)
    is_rank = rank is not None and rank != before
    _here.path = (*_leave_out_again(above), "rank", str(rank)) if is_rank else _here.started


def _place_program(above: Path, step: Path, rank: str | None, before: str | None) -> Path:
    """Where a program starts; a rank, which its launcher's `before` is not, counts by its number."""
    if rank is None or rank == before:
        return (*above, *step)
    count = (int(rank),) if step and rank.isdecimal() else step[-1:]
    return (*_leave_out_again(above), *step[:-1], *count)


def _leave_out_again(place: Path) -> Path:
    """A place without the counts of who came there before, which race."""
    counts = {at for at, word in enumerate(place) if word == _AGAIN}
    return tuple(word for at, word in enumerate(place) if not counts & {at, at - 1})


_read_environment()


def _claim(run: str, place: Path) -> Path:
    """The place, or the first below it that no other program of the run has taken."""
    name = hashlib.sha256(json.dumps(place).encode()).hexdigest()[:16]
    for nth in itertools.count():
        try:
            os.close(os.open(f"{run}/{name}.{nth}{CLAIM}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        except OSError:  # a disk that cannot be written: then no recorder writes either
            return place
        return (*place, _AGAIN, nth) if nth else place
    raise AssertionError


def _follow_programs() -> Undo:
    import _posixsubprocess

    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = _own()
    fork_exec: Any = _posixsubprocess.fork_exec

    def handing_on(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 6 or not isinstance(args[0], (list, tuple)) or not args[0]:
            return original(*args, **kwargs)  # which says what is wrong
        step, entries = _name_program(args[0][0]), args[5]
        with _starting:
            if entries is None:
                return _start_with(_make_variables(step), original, *args, **kwargs)
            given = _make_variables(step, dict(os.fsdecode(entry).partition("=")[::2] for entry in entries))
            return original(*args[:5], _extend_environment(entries, given), *args[6:], **kwargs)

    undos = [wrap_attribute(_posixsubprocess, "fork_exec", handing_on)]
    subprocess: Any = sys.modules.get("subprocess")
    if getattr(subprocess, "_fork_exec", None) is fork_exec:
        undos.append(replace(subprocess, "_fork_exec", _posixsubprocess.fork_exec))
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            undos.append(wrap_attribute(os, name, _spawn))
    put_back = undo_all(undos)

    def undo() -> None:
        put_back()
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before

    return undo


def _name_program(path: str | bytes) -> Path:
    name = os.path.basename(os.fsdecode(path))
    return "program", name, _count_next(f"program {name}")


def _make_variables(step: Path, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a program finds that is started by this step from here, with an environment of its own or ours."""
    before = _read_rank(os.environ)
    rank = before if environment is None else _read_rank(environment)
    place = _place_program(_here.path, step, rank, before)
    return {VARIABLE: _write_text(step)} | {k: v for extra in _extra for k, v in extra(place).items()}


def _start_with(given: Mapping[str, str], start: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Start a program that takes this process's environment as it is, but for our variables."""
    added = [name for name in given if name == VARIABLE or name not in os.environ]
    for name in added:
        os.putenv(name, given[name])  # os.environ shows nothing of it
    try:
        return start(*args, **kwargs)
    finally:
        for name in added:
            if name == VARIABLE:
                os.putenv(name, os.environ.get(VARIABLE, _own()))
            else:
                os.unsetenv(name)


def _extend_environment(entries: Any, given: Mapping[str, str]) -> Any:
    """Entries of "NAME=value", with our variables.

    An environment that was made anew, for a helper of a command that is followed, gets all of them: it is
    made to be free of what the user's shell has, and not of us.
    """
    names = {entry.partition(b"=")[0] for entry in entries}
    if VARIABLE.encode() not in names:
        if not _follows(os.fsdecode(name) for name in names):
            return entries
        given = {**_list_ours(), **given}
    rest = [entry for entry in entries if not entry.startswith(f"{VARIABLE}=".encode())]
    added = [name for name in given if name == VARIABLE or name.encode() not in names]
    return rest + [f"{name}={given[name]}".encode() for name in added]


def _spawn(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    arguments, environment = Parameter("argv", 1), Parameter("env", 2)
    argv, env = arguments.of(args, kwargs, None), environment.of(args, kwargs)
    if argv and isinstance(argv, (list, tuple)) and env is None:  # this process's, from Python 3.13 on
        with _starting:
            return _start_with(_make_variables(_name_program(argv[0])), original, *args, **kwargs)
    if argv and isinstance(argv, (list, tuple)) and isinstance(env, Mapping):
        whole = env.get(VARIABLE) is not None
        if whole or _follows(map(os.fsdecode, env)):
            given = _make_variables(_name_program(argv[0]), env)
            env = {**({} if whole else _list_ours()), **given, **env, VARIABLE: given[VARIABLE]}
            args, kwargs = environment.put(args, kwargs, env)
    return original(*args, **kwargs)


def _follows(names: Iterable[str]) -> bool:
    """Whether a program is to be followed that finds these variables, and not our own, in its environment.

    A samerun that is part of a command follows what it starts by its own variables.
    """
    return _here.launched and not any(name.startswith(_OURS) for name in names)


def _list_ours() -> dict[str, str]:
    return {**_here.needed, **{k: v for k, v in os.environ.items() if k.startswith(_OURS)}}
