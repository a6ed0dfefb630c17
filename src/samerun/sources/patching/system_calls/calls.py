"""What a program asks the system for: the functions, what of their answers counts, and how these are kept."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from samerun.answers import find_direct_site, find_site
from samerun.sources.patching.system_calls import file_times, programs, sqlite_draws

NOTHING: Any = object()  # this call asks for nothing that changes from run to run
UNKNOWN: Any = object()  # it does, and what it gives is not known yet
_PLAIN = (int, float, str, bytes, type(None))


def _take_all(args: tuple[Any, ...], value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Call:
    """A function or method that gives what the system has now."""

    module: str  # in which it is found, once that is imported
    path: str  # of the attribute in it: "Process.memory_info"
    named: str = ""  # for people, where the attribute says nothing to them
    steady: bool = False  # it gives the same again and again on one machine
    cannot_keep: str = ""  # why a later run cannot be given it again
    find_site: Callable[[], str | None] = find_direct_site  # the user's line; None: not the user's call
    take: Callable[[tuple[Any, ...], Any], Any] = _take_all  # of the arguments and the answer: what counts
    put: Callable[[Any, Any], Any] | None = None  # of what was kept and the real answer: what is given

    @property
    def shown(self) -> str:
        """Its name for people."""
        return self.named or f"{'os.path' if self.module == 'posixpath' else self.module}.{self.path}"

    def find_owner(self) -> tuple[Any, str] | None:
        """The module or class that has it, and its name there; None where it is not to be had."""
        *holders, name = self.path.split(".")
        owner = functools.reduce(lambda found, part: getattr(found, part, None), holders, _get(self.module))
        return (owner, name) if owner is not None and hasattr(owner, name) else None

    def restore(self, kept: Any, real: Any) -> Any:
        """What to give for what was kept, in the form of the real answer."""
        return unpack(kept, real) if self.put is None else self.put(kept, real)


def _get(module: str) -> Any:
    return sys.modules.get(module)


def pack(value: Any) -> Any:
    """The same as plain values; UNKNOWN where it is made of anything else."""
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    if isinstance(value, (tuple, list)):
        parts = [pack(item) for item in value]
        return UNKNOWN if any(part is UNKNOWN for part in parts) else parts
    return value if isinstance(value, _PLAIN) else UNKNOWN


def unpack(kept: Any, like: Any) -> Any:
    """What `pack` made, as an object of the kind of `like`."""
    if isinstance(like, (tuple, list)) and isinstance(kept, list):
        parts = [unpack(item, other) for item, other in zip(kept, like, strict=False)]
        if len(parts) != len(kept):
            return kept
        return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
    return type(like)(kept) if isinstance(like, (set, frozenset)) else kept


def _take_port(args: tuple[Any, ...], value: Any) -> Any:
    return value if isinstance(value, tuple) else NOTHING  # of a Unix socket it is a path


def _take_drawn(args: tuple[Any, ...], value: Any) -> Any:
    return UNKNOWN if len(args) > 1 and sqlite_draws.draws(*args[:3]) else NOTHING


def _put_body(kept: Any, real: bytes) -> bytes:
    """What was kept, where the server says that as much is to come: a client counts it."""
    return kept if isinstance(kept, bytes) and len(kept) == len(real) else real


def _or_nothing(take: Callable[[Any, Any], Any]) -> Callable[[tuple[Any, ...], Any], Any]:
    def taken(args: tuple[Any, ...], value: Any) -> Any:
        found = take(args[0] if args else None, value)
        return NOTHING if found is None else found

    return taken


_PORT = "an address or a port must be one that is there now"
DRAWS_OF_ITS_OWN = "sqlite3."  # of which only statements that draw are noted
_ENTRIES = "the entries of a folder tell their times themselves"
_DRAWN = "what a database draws is its own"


def _list_calls() -> Iterator[Call]:
    for name in ("times", "statvfs", "fstatvfs", "getloadavg"):
        yield Call("os", name)
    for name in ("sysconf", "cpu_count", "process_cpu_count", "sched_getaffinity"):
        yield Call("os", name, steady=True)
    for name in ("stat", "lstat", "fstat"):
        yield Call("os", name, take=_or_nothing(file_times.take), put=file_times.put)
    yield Call("os", "scandir", cannot_keep=_ENTRIES, take=_or_nothing(file_times.take_of_entries))
    for name in ("getmtime", "getatime", "getctime"):
        yield Call("posixpath", name)
    yield Call("threading", "get_native_id")  # not get_ident, which threading itself asks all the time
    yield Call("resource", "getrusage")
    yield from _list_calls_that_reach_out()
    for module, path, take, put in programs.CALLS:
        yield Call(module, path, named=programs.NAMED, take=_or_nothing(take), put=put)
    for name in ("cpu_count", "boot_time"):
        yield Call("psutil", name, steady=True)
    for name in (*_PSUTIL, *(f"Process.{name}" for name in _PROCESS)):
        yield Call("psutil", name)


def _list_calls_that_reach_out() -> Iterator[Call]:
    """Those that name or read what is outside of this process."""
    yield Call("tempfile", "_RandomNameSequence.__next__", named="tempfile")
    yield Call("socket", "socket.getsockname", cannot_keep=_PORT, take=_take_port)
    for name in ("getaddrinfo", "gethostbyname"):
        yield Call("socket", name, steady=True, cannot_keep=_PORT)
    yield Call("http.client", "HTTPResponse.read", find_site=find_site, put=_put_body)
    for name in ("Connection.execute", "Cursor.execute"):
        yield Call("sqlite3", name, cannot_keep=_DRAWN, find_site=find_site, take=_take_drawn)


_PSUTIL = (
    "virtual_memory",
    "swap_memory",
    "cpu_percent",
    "cpu_times",
    "cpu_times_percent",
    "cpu_freq",
    "cpu_stats",
    "disk_usage",
    "disk_io_counters",
    "net_io_counters",
    "getloadavg",
    "pids",
)
_PROCESS = (
    "memory_info",
    "memory_full_info",
    "memory_percent",
    "cpu_percent",
    "cpu_times",
    "create_time",
    "io_counters",
    "num_ctx_switches",
    "num_fds",
    "num_threads",
)
CALLS = tuple(_list_calls())
MODULES = tuple(
    dict.fromkeys(call.module for call in CALLS if call.module not in ("os", "posixpath", "threading"))
)
