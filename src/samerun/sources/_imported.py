"""Whether a module is there whole: while it is being imported, sys.modules holds what it has so far."""

from __future__ import annotations

import sys


def is_imported(name: str) -> bool:
    """Whether its import has come to its end."""
    module = sys.modules.get(name)
    if module is None:
        return False
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)
