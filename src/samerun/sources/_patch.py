"""Replacing an attribute of a module or class, and putting it back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from samerun.sources import _user_code
from samerun.sources.source import Undo


def replace(owner: Any, name: str, value: Any) -> Undo:
    """Set the attribute; the undo restores what was there, unless somebody replaced ours meanwhile."""
    before = vars(owner)[name]
    setattr(owner, name, value)

    def undo() -> None:
        if vars(owner).get(name) is value:
            setattr(owner, name, before)

    return undo


def all_of(undos: list[Undo]) -> Undo:
    """One undo that runs each, the last one first."""

    def undo() -> None:
        for each in reversed(undos):
            each()

    return undo


class Wrapper:
    """A callable in the place of a built-in function.

    Unlike a Python function it is no descriptor: a class that keeps it as an attribute (pathlib's accessor,
    glob's globber) calls it as it would call the built-in. Pickled by the name of what it stands for.
    """

    def __init__(self, home: ModuleType, original: Callable[..., Any], call: Callable[..., Any]) -> None:
        self.__wrapped__ = original
        self._call = call
        self.__name__: str = original.__name__
        self.__qualname__: str = original.__qualname__
        self.__doc__ = original.__doc__
        self.__module__ = home.__name__  # os, where the built-in says posix
        self.__self__ = getattr(original, "__self__", None)  # the module, as built-ins have it

    def release(self) -> None:
        """Be the original from now on, for whoever kept a reference."""
        self._call = self.__wrapped__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _user_code.is_samerun(sys._getframe(1)):
            return self.__wrapped__(*args, **kwargs)  # the recorder's own clocks and files are no evidence
        return self._call(*args, **kwargs)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return repr(self.__wrapped__)
