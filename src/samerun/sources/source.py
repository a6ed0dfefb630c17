"""The one interface of the catalogue."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control, Mode

Undo = Callable[[], None]


class Journal(Protocol):
    """Where an observed source writes its evidence, inside the process that trains."""

    def note(
        self,
        what: str,
        name: str,
        *,
        digest: bytes | None = None,
        inputs: int | None = None,
        value: float | None = None,
        detail: str | None = None,
        user_only: bool = False,
    ) -> None:
        """Write one evidence record (a word of runs.schema.EVIDENCE).

        The call site is found by walking up from the caller to the user's code. With `user_only`, nothing
        is written when the call came from a library's own machinery.
        """

    def from_user(self) -> bool:
        """Whether the call being observed was made by the user's code (see `user_only`)."""


class Source(ABC):
    """One thing that can make two runs differ.

    A subclass sets the class variables and overrides what applies to it; what it leaves alone does nothing.
    """

    id: ClassVar[str]
    summary: ClassVar[str]  # one line for people
    advice: ClassVar[str]  # the lines of code that control it in a user's script
    kind: ClassVar[str]  # rng, order, kernel, memory, numerics, world or provenance
    modes: ClassVar[tuple[Mode, ...]] = ()  # the modes that control it; () and controllable: on request alone
    controllable: ClassVar[bool] = True  # False: there is no control, and `advice` says what can be done
    hooks_into: ClassVar[str] = ""  # the module after whose import it acts; "": at the start of the process

    # before the process starts
    def environment(self, control: Control) -> Mapping[str, str]:
        """Variables that must exist when the process starts.

        Raises UsageError when the user's own value contradicts the control.
        """
        return {}

    # inside the process that trains
    def in_play(self) -> bool:
        """Whether it is used here at all (numpy imported, CUDA there, …)."""
        return True

    def control(self, control: Control) -> Undo | None:
        """Make it repeatable in this process, from here on; return what puts it back as it was.

        Called once `hooks_into` is imported. Raises TooLate when it can no longer take effect.
        """
        return None

    def observe(self, journal: Journal) -> Undo | None:
        """Record its use without changing anything; return what takes the hooks out again.

        Called once `hooks_into` is imported, before `control`.
        """
        return None

    def digest(self) -> bytes | None:
        """The digest (16 bytes) of its state now, or None when it has none."""
        return None

    def describe(self) -> Mapping[str, Any]:
        """What it says of itself now, for the manifest and `samerun env`: plain JSON values."""
        return {}

    # about runs
    def recognise(self, difference: Difference) -> Evidence | None:
        """Whether it caused this first difference, and how one can tell."""
        return None
