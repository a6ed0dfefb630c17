"""Names that differ by process and machine: https://docs.python.org/3/library/os.html#os.getpid."""

from __future__ import annotations

import getpass
import os
import platform
import re
import socket
from collections.abc import Callable
from typing import Any

from samerun.digest import digest_bytes
from samerun.runs.plan import Control
from samerun.sources import _patch, _user_code
from samerun.sources._world import World
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

_READS: tuple[tuple[Any, str, Any], ...] = (
    (os, "getpid", 4242),
    (socket, "gethostname", "samerun"),
    (platform, "node", "samerun"),
    (getpass, "getuser", "samerun"),
)


class ProcessId(World):
    """The process's number, the host's name and the user's, read by the user's code.

    On request these have fixed values for calls in the user's own files. A script that sends signals to
    itself must not ask for that.
    """

    id = "process-id"
    summary = "the script reads its process id, host name or user name"
    advice = "seed from a constant and the rank: torch.manual_seed(0)"
    cannot_mend = "the process id or name makes more than a seed: put a constant, or the rank, in its place"
    evidence = "identity"
    words = re.compile(r"getpid|gethostname|platform\.node|getuser|getppid")

    def control(self, control: Control) -> Undo | None:
        """Give the user's own calls fixed values."""
        undos = []
        for module, name, value in _READS:
            undos.append(_patch.for_others(module, name, _fixed(value)))
        return _patch.all_of(undos)

    def observe(self, journal: Journal) -> Undo | None:
        """Note each read by the user's code."""
        undos = []
        for module, name, _ in _READS:
            noting = _noting(journal, f"{module.__name__}.{name}")
            undos.append(_patch.for_others(module, name, noting))
        return _patch.all_of(undos)


def _fixed(value: Any) -> Around:
    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args or kwargs or not _user_code.called_directly():
            return original(*args, **kwargs)
        return value

    return call


def _noting(journal: Journal, function: str) -> Around:
    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value = original(*args, **kwargs)
        journal.note("identity", function, digest=digest_bytes(repr(value).encode()), user_only=True)
        return value

    return call
