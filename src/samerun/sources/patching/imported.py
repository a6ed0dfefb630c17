"""What acts on modules: on those that are there, and again on the rest as they are imported."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping

from samerun.sources.source import Undo
from samerun.wrapping import undo_all

Patches = Mapping[str, Callable[[], Undo]]  # the module that must be there → what changes it


def has(module: str, name: str) -> bool:
    """Whether the import of a module has come so far that it has this name.

    While it is being imported, sys.modules holds what it has so far.
    """
    return hasattr(sys.modules.get(module), name)


def patch_new(done: set[str], patches: Patches) -> Undo:
    """Make the changes whose modules are there ("": always), but those in `done`, to which they are added."""
    undos: list[Undo] = []
    for module, patch in patches.items():
        if module not in done and (not module or module in sys.modules):
            done.add(module)
            undos += [functools.partial(done.discard, module), patch()]
    return undo_all(undos)
