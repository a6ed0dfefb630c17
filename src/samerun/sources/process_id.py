"""Names that differ by process and machine: https://docs.python.org/3/library/os.html#os.getpid."""

from __future__ import annotations

import getpass
import os
import platform
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from samerun import callsite, lineage
from samerun.digest import digest_bytes
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources.base.system_value import World
from samerun.sources.patching import attribute
from samerun.sources.patching.process_numbers import Numbers
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

_READS: tuple[tuple[Any, str], ...] = (
    (os, "getpid"),
    (os, "getppid"),
    (socket, "gethostname"),
    (platform, "node"),
    (getpass, "getuser"),
)
_PSUTIL = "psutil"
_FOREIGN = "of another program"  # detail of a read of the parent's number, where samerun is not in the parent


class ProcessId(World):
    """The process's number, the host's name and the user's, read by the user's code.

    On request a line of the user's own that asks for the number gets one that depends on the process's place
    in the command. The names stay: they repeat on a machine, and others would not be found when looked up.
    """

    id = "process-id"
    gives = re.compile(r"(os|posix)\.getpp?id|multiprocessing\.process\.current_process")
    summary = "the script reads its process id, host name or user name"
    advice = 'seed from a constant and the rank: torch.manual_seed(int(os.environ.get("RANK", 0)))'
    cannot_mend = "the process id or name makes more than a seed: put a constant, or the rank, in its place"
    also_hooks_into = (_PSUTIL,)
    evidence = "identity"
    words = re.compile(r"getpid|gethostname|platform\.node|getuser|getppid")

    def __init__(self) -> None:
        self._waiting: tuple[Control, Numbers] | None = None  # for psutil
        self._observed = False

    def recognise(self, difference: Difference) -> Evidence | None:
        """As any value of the system's; the number of a shell that started it is beyond its control."""
        found = super().recognise(difference)
        if found is None:
            return None
        foreign = any(
            row.detail == _FOREIGN and row.call_site == found.call_site for row in self.reads(difference)
        )
        return replace(found, beyond_control=True) if foreign else found

    def control(self, control: Control) -> Undo | None:
        """Give the user's own lines a number that repeats and that finds the process.

        Called once more when psutil is imported.
        """
        if self._waiting is not None and self._waiting[0] is control:
            numbers = self._waiting[1]
            self._waiting = None
            return numbers.in_psutil()
        numbers = Numbers(control.seed, self.id)
        undos = [numbers.translated()]
        if _PSUTIL in sys.modules:
            undos.append(numbers.in_psutil())
        else:
            self._waiting = control, numbers
        for name, number in (("getpid", numbers.mine), ("getppid", numbers.parents)):
            undos.append(attribute.patch_for_others(os, name, _give_number(number)))
        return attribute.undo_all(undos)

    def observe(self, journal: Journal) -> Undo | None:
        """Note each read by the user's code; the import of psutil changes nothing here."""
        if self._observed:
            return None
        self._observed = True
        undos: list[Undo] = [lambda: setattr(self, "_observed", False)]
        for module, name in _READS:
            noting = _make_hook(journal, f"{module.__name__}.{name}")
            undos.append(attribute.patch_for_others(module, name, noting))
        return attribute.undo_all(undos)


def _give_number(number: Callable[[], int]) -> Around:
    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args or kwargs or not callsite.is_called_directly():
            return original(*args, **kwargs)
        return number()

    return call


def _make_hook(journal: Journal, function: str) -> Around:
    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value = original(*args, **kwargs)
        foreign = function == "os.getppid" and lineage.find_parent_path(value) is None
        digest, detail = digest_bytes(repr(value).encode()), _FOREIGN if foreign else None
        journal.note("identity", function, digest=digest, detail=detail, user_only=True)
        return value

    return call
