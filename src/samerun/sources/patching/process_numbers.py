"""Numbers that stand for processes: what a script's own line reads, and what finds the process again.

A number is above every one that Linux gives to a process (2**22), so that it can be told from a real one,
and addresses nobody by mistake: a `kill` of it outside of Python finds no process. In Python, whatever takes
the number of a process gets the real one. Where that cannot be done, the use is refused.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from samerun import lineage
from samerun.errors import UsageError
from samerun.sources.patching import attribute
from samerun.sources.source import Undo
from samerun.streams import stream_seed

_ABOVE = 2**22
_BITS = 30  # what is added: a number fits in the 31 bits of a pid_t
_TAKING = {
    "os": (
        "kill killpg getpgid getsid setpgid waitpid wait4 waitid pidfd_open getpriority setpriority "
        "sched_getaffinity sched_setaffinity sched_getscheduler sched_setscheduler sched_getparam "
        "sched_setparam sched_rr_get_interval"
    ),
    "resource": "prlimit",
}
# Where a number would leave Python as text, or reach the system past what is replaced.
_LEAVING = frozenset(
    ("open", "os.listdir", "os.scandir", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
)
_NUMBER = re.compile(r"(?:^/proc/|^|[\s=,])(\d{7,10})(?=$|[/\s,;&|'\"])")  # a word of its own, or in /proc


class Numbers:
    """Those of one control: of this process and of those that it was forked from."""

    def __init__(self, seed: int, id_: str) -> None:
        self._seed = seed
        self._id = id_
        self._real: dict[int, int] = {}

    def mine(self) -> int:
        """The number of this process: it depends on the seed and on the process's place alone."""
        return self._of(lineage.get_path(), _getpid())

    def parents(self) -> int:
        """That of the process which started this one; the real one of any other."""
        real = _getppid()
        place = lineage.find_parent_path(real)
        return real if place is None else self._of(place, real)

    def _of(self, place: lineage.Path, real: int) -> int:
        number = _ABOVE + 1 + (stream_seed(self._seed, self._id, *place) >> 64 - _BITS)
        self._real[number] = real
        return number

    def translated(self) -> Undo:
        """Let whatever takes the number of a process take these too; refuse where that cannot be done."""
        undos = [self._translate(module, name) for module, names in _TAKING.items() for name in names.split()]
        _watch()
        _in_force.append(self)
        return attribute.undo_all([self._end, *(undo for undo in undos if undo is not None)])

    def _end(self) -> None:
        if self in _in_force:
            _in_force.remove(self)

    def in_psutil(self) -> Undo:
        """The same for psutil, which is imported."""
        psutil = sys.modules["psutil"]
        kind: Any = psutil.Process
        return attribute.undo_all(
            [
                attribute.patch_for_others(kind, "__init__", self._taking),
                attribute.patch_for_others(psutil, "pid_exists", self._taking),
            ]
        )

    def _translate(self, module: str, name: str) -> Undo | None:
        home = importlib.import_module(module)
        if not hasattr(home, name):  # not on this system
            return None
        return attribute.patch_for_others(home, name, self._taking)

    def _taking(self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        real = {name: self._to_real(value) for name, value in kwargs.items()}
        return original(*(self._to_real(value) for value in args), **real)

    def _to_real(self, value: Any) -> Any:
        return self._real.get(value, value) if type(value) is int else value

    def has(self, number: int) -> bool:
        """Whether it was given to somebody."""
        return number in self._real


_in_force: list[Numbers] = []


@functools.cache
def _watch() -> None:
    """From now on; an audit hook stays for good."""
    sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    """A number on its way out is refused, rather than answered with nobody."""
    if event not in _LEAVING or not _in_force:
        return
    for text in _list_texts(args):
        for found in map(int, _NUMBER.findall(text)):
            if any(numbers.has(found) for numbers in _in_force):
                raise UsageError(
                    f"process-id is controlled, and {event} is given the number of a process ({text!r}): "
                    "outside of Python nobody has that number. Run it without --control process-id"
                )


_getpid, _getppid = os.getpid, os.getppid  # as they are before any control


def _list_texts(args: tuple[Any, ...]) -> list[str]:
    found: list[str] = []
    for value in args:
        if isinstance(value, bytes):
            found.append(os.fsdecode(value))
        elif isinstance(value, str):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _list_texts(tuple(value))
    return found
