"""Whether a module is there: while it is being imported, sys.modules holds what it has so far."""

from __future__ import annotations

import sys


def has(module: str, name: str) -> bool:
    """Whether the import of a module has come so far that it has this name."""
    return hasattr(sys.modules.get(module), name)
