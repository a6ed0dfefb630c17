"""The variables of a function that imports torch go as it ends, though what is there then is frozen.

The import of torch leaves garbage in reference cycles, with frames that know the frames of whatever imports
it. `gc.freeze()` keeps such garbage, and those variables with it, until the process ends.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import sys
from types import FrameType

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CONTEXTS = contextlib.contextmanager.__code__.co_filename


def leave_importers_out() -> None:
    """To be called where the import is complete, before `gc.freeze()`."""
    if any(frame.f_code.co_flags & inspect.CO_OPTIMIZED for frame in _list_importing()):
        gc.collect()  # it takes a while: not for a module, whose variables stay as long as the process


def _list_importing() -> list[FrameType]:
    """The frames of the modules and functions that are under way, but for samerun's and the import's own."""
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_OWN, "<frozen importlib")) and name != _CONTEXTS:
            found.append(frame)
        frame = frame.f_back
    return found
