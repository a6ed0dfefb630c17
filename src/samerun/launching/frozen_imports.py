"""What imports torch goes at the end of its function or process, though what is there then is frozen.

The import of torch leaves garbage in reference cycles, with frames that know the frames of whatever imports
it. `gc.freeze()` keeps such garbage for good: variables of the script would stay as well, and a file that
the script leaves to Python to close would end without what was last written.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import sys
from types import FrameType
from typing import Any

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CONTEXTS = contextlib.contextmanager.__code__.co_filename


def leave_importers_out() -> None:
    """To be called where the import is complete, before `gc.freeze()`."""
    frames = _list_importing()
    if any(frame.f_code.co_flags & inspect.CO_OPTIMIZED for frame in frames):
        gc.collect()  # a function's variables: they are freed with the garbage alone. It takes a while
        return
    # Python clears the variables of each module that is there at the end: one frozen in a cycle is.
    kept: list[Any] = [sys.modules.get(frame.f_globals.get("__name__", "")) for frame in frames]
    kept.append(kept)


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
