"""What is to happen once a module was imported, which may be after `install`.

torchvision's operators exist only then; to register early would not do: of two kernels for one dispatch key,
the one that came last is called. torch's compiler takes a second to import, just to be changed.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def once_imported(module: str, then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` when the module was imported, which may be now; return what gives up waiting for that."""
    if module in sys.modules:
        then()
        return lambda: None
    finder = _Finder(module, then)
    sys.meta_path.insert(0, finder)

    def undo() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return undo


def changed(module: str, change: Callable[[], Callable[[], None]]) -> Callable[[], None]:
    """Make a change once the module was imported; return what takes it back, or gives up waiting for that."""
    undo: list[Callable[[], None]] = []
    give_up = once_imported(module, lambda: undo.append(change()))

    def back() -> None:
        give_up()
        for act in undo:
            act()

    return back


class _Finder:
    """Finds the module as the other finders do, with a loader that reports back."""

    def __init__(self, module: str, then: Callable[[], None]) -> None:
        self._module = module
        self._then = then
        self._finding = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Nothing for every other module."""
        if name != self._module or self._finding:
            return None
        self._finding = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._finding = False
        if spec is not None and spec.loader is not None:
            _report(spec.loader, self._then)
        return spec


def _report(loader: Any, then: Callable[[], None]) -> None:
    """Have the loader call `then` when it has executed a module, once."""
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        execute(module)
        then()

    loader.exec_module = exec_module
