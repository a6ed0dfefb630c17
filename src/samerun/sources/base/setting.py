"""What flags of torch share: a value that is set, described and put back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from samerun import callsite
from samerun.runs.plan import Control, Mode
from samerun.runs.schema import HELD
from samerun.sources.patching import held_flags
from samerun.sources.patching.held_flags import Flag
from samerun.sources.source import Journal, Source, Undo
from samerun.wrapping import undo_all


class Setting(Source):
    """Flags with a fast and a repeatable value."""

    modes: ClassVar[tuple[Mode, ...]] = ("strict", "warn")
    hooks_into = "torch"
    held: ClassVar[tuple[Flag, ...]] = ()  # those that a script turns back often

    def __init__(self) -> None:
        self._journal: Journal | None = None
        self._noted: set[str] = set()

    @abstractmethod
    def read(self) -> dict[str, Any]:
        """Each flag by its name, as it is now."""

    @abstractmethod
    def write(self, values: Mapping[str, Any]) -> None:
        """Set those of the flags that are given."""

    @abstractmethod
    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """The values that make it repeatable."""

    def control(self, control: Control) -> Undo | None:
        """Set the repeatable values, and hold them; the undo sets those of before."""
        undo = self._set(self.repeatable(control))
        return undo_all([undo, *(held_flags.hold(flag, self.note_held) for flag in self.held)])

    def observe(self, journal: Journal) -> Undo | None:
        """Keeps where to note what is held."""
        self._journal = journal
        return None

    def note_held(self, written: str) -> None:
        """The script wrote this, and it was not done: once for each line."""
        if self._journal is None:
            return
        frame = callsite.find_user_frame(2)
        site = "" if frame is None else callsite.call_site(frame)
        if site not in self._noted:
            self._noted.add(site)
            self._journal.note("note", HELD, detail=written)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Set other values."""
        undo = self._set(value)
        took()
        return undo

    def describe(self) -> Mapping[str, Any]:
        """The flags' values."""
        return self.read()

    def _set(self, values: Mapping[str, Any]) -> Undo:
        before = self.read()
        with _unfreeze():
            self.write(values)

        def undo() -> None:
            with _unfreeze():
                self.write(before)

        return undo


def _unfreeze() -> AbstractContextManager[Any]:
    """torch.testing's helpers, which test suites import, forbid to set cuDNN's flags other than in this."""
    import torch

    return getattr(torch.backends, "__allow_nonbracketed_mutation", nullcontext)()
