"""The name of the user: https://docs.python.org/3/library/getpass.html#getpass.getuser."""

from __future__ import annotations

import getpass
import re
from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import identity_calls
from samerun.sources.source import Kind, Settings, Source, Undo, Variant


class User(Source):
    """Scripts that find data or seeds by who runs them."""

    id = "user"
    gives = re.compile(r"getpass\.getuser|(os|posix)\.(getlogin|getuid|geteuid)")
    summary = "the script reads the name of its user"
    advice = "take paths and seeds from arguments, not from the user's name"
    kind = Kind.WORLD
    controllable = False  # it repeats on a machine; process-id recognises it

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another name, for the user's own calls."""
        return identity_calls.answer_with([(getpass, "getuser")], value, took)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another name."""
        name = "somebody"
        variables = dict.fromkeys(("USER", "LOGNAME", "USERNAME"), name)
        return [Variant(f"user {name}", name, variables, likely=0.05)]
