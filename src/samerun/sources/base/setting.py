"""What flags of torch share: a value that is set, described and put back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from samerun.runs.plan import Control, Mode
from samerun.sources.source import Source, Undo


class Setting(Source):
    """Flags with a fast and a repeatable value."""

    modes: ClassVar[tuple[Mode, ...]] = ("strict", "warn")
    hooks_into = "torch"

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
        """Set the repeatable values; the undo sets those of before."""
        return self._set(self.repeatable(control))

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
