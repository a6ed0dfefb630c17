"""The name of the machine: https://docs.python.org/3/library/socket.html#socket.gethostname."""

from __future__ import annotations

import platform
import re
import socket
from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import identity_calls
from samerun.sources.source import Kind, Settings, Source, Undo, Variant


class Hostname(Source):
    """Scripts that seed, split or name by the machine that they run on."""

    id = "hostname"
    gives = re.compile(r"socket\.(gethostname|getfqdn)|platform\.(node|uname)|(os|posix)\.uname")
    summary = "the script reads the name of its machine"
    advice = "take what differs by machine from an argument, not from the machine's name"
    kind = Kind.WORLD
    controllable = False  # it repeats on a machine; process-id recognises it

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another name, for the user's own calls."""
        return identity_calls.answer_with([(socket, "gethostname"), (platform, "node")], value, took)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another name."""
        name = "another-host"
        return [Variant(f"host name {name}", name, {"HOSTNAME": name}, likely=0.05)]
