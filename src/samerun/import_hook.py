"""Acts right after a module was imported, whoever imports it.

torchvision's operators exist only then; to register early would not do: of two kernels for one dispatch key,
the one that came last is called. torch's compiler takes a second to import, just to be changed.
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # each process of a command pays for what is imported here
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Finder(ABC):
    """Lets the real finders find, and has what is watched executed by `execute`."""

    def __init__(self, watched: frozenset[str]) -> None:
        self._watched = watched
        self._finding = threading.local()

    @abstractmethod
    def execute(self, name: str, run: Callable[[], None]) -> None:
        """Execute a watched module by `run`."""

    def miss(self, name: str) -> None:
        """No finder finds a watched module."""
        return

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find, with a loader that reports back; None for what is not watched."""
        finding: set[str] = self._finding.__dict__.setdefault("names", set())
        if name not in self._watched or name in finding:
            return None
        finding.add(name)  # another finder may ask the whole meta_path in its turn
        try:
            spec = _find(name, path, target, besides=self)
        finally:
            finding.discard(name)
        if spec is None:
            self.miss(name)
            return None
        loader = spec.loader
        if not hasattr(loader, "exec_module") or not hasattr(loader, "create_module"):
            return spec
        spec.loader = _Reporting(loader, spec, self)  # type: ignore[assignment]
        return spec


class ImportHook(_Finder):
    """Calls `then(name)` once each named module was executed.

    A submodule that is executed while its top-level package still is (numpy.random during `import numpy`)
    is announced when the package is complete, just before the package itself: half a package is of no use.
    Each name is announced once in a process, a reload included. A module is executed and announced within
    what `around(name)` gives. `missing(name)` is called each time that no finder finds a watched module.
    """

    def __init__(
        self,
        names: Iterable[str],
        then: Callable[[str], None],
        around: Callable[[str], AbstractContextManager[None]],
        missing: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._names = frozenset(names)
        super().__init__(self._names | {_take_top(name) for name in self._names})
        self._then = then
        self._around = around
        self._missing = missing
        self._lock = threading.Lock()
        self._announced: set[str] = set()
        self._executing: dict[str, list[str]] = {}  # top-level package -> its submodules that wait for it

    def install(self) -> None:
        """Watch from here on; modules that are imported already are announced at once."""
        sys.meta_path.insert(0, self)
        for name in sorted(self._names):
            if name in sys.modules:
                self._announce(name)

    def miss(self, name: str) -> None:
        """No finder finds a watched module."""
        self._missing(name)

    def execute(self, name: str, run: Callable[[], None]) -> None:
        """Execute a watched module by `run`, and announce it if that went well."""
        with self._around(name):
            self._execute(name, run)

    def _execute(self, name: str, run: Callable[[], None]) -> None:
        top = _take_top(name)
        if name == top:
            self._executing[name] = []
        try:
            run()
        except BaseException:
            self._executing.pop(name, None)
            raise
        if name != top:
            _bind_to_parent(name)
            if top in self._executing:
                self._executing[top].append(name)
                return
        for ready in (*self._executing.pop(name, ()), name):
            self._announce(ready)

    def _announce(self, name: str) -> None:
        with self._lock:
            if name not in self._names or name in self._announced:
                return
            self._announced.add(name)
        self._then(name)


def call_once_imported(module: str, then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` when the module was imported, which may be now; return what gives up waiting for that."""
    if module in sys.modules:
        then()
        return lambda: None
    finder = _OnceImported(module, then)
    sys.meta_path.insert(0, finder)

    def undo() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return undo


def change_once_imported(module: str, change: Callable[[], Callable[[], None]]) -> Callable[[], None]:
    """Make a change once the module was imported; return what takes it back, or gives up waiting for that."""
    undo: list[Callable[[], None]] = []
    give_up = call_once_imported(module, lambda: undo.append(change()))

    def back() -> None:
        give_up()
        for act in undo:
            act()

    return back


class _OnceImported(_Finder):
    """Calls `then` as soon as the module was executed, though its package may be on its way still."""

    def __init__(self, module: str, then: Callable[[], None]) -> None:
        super().__init__(frozenset((module,)))
        self._then = then

    def execute(self, name: str, run: Callable[[], None]) -> None:
        """Execute it, and call."""
        run()
        self._then()


class _Reporting:
    """Stands in for a module's loader until it executes; then the module has its own loader again."""

    def __init__(self, loader: Any, spec: ModuleSpec, hook: _Finder) -> None:
        self._loader = loader
        self._spec = spec
        self._hook = hook

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._spec.loader = self._loader
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._loader
        self._hook.execute(self._spec.name, lambda: self._loader.exec_module(module))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _take_top(name: str) -> str:
    return name.partition(".")[0]


def _find(
    name: str, path: Sequence[str] | None, target: ModuleType | None, besides: _Finder
) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        if finder is besides:
            continue
        find_spec = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = None if find_spec is None else find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


def _bind_to_parent(name: str) -> None:
    """Do now what the import system does a moment later, so that `a.b` can be used when b is announced."""
    parent, _, child = name.rpartition(".")
    if parent in sys.modules and name in sys.modules:
        setattr(sys.modules[parent], child, sys.modules[name])
