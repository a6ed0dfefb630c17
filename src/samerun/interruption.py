"""Errors that the script raises: while code of ours runs in its process, and those that end it.

The former, the handler of a signal raises (a time limit by SIGALRM), or another thread raises them in this
one. See docs/decisions/0012.
"""

from __future__ import annotations

import sys
from types import FrameType

# Digests call methods of the script's own objects, which raise what they like.
_CALLS_OTHERS = "samerun.digest."
_RAISED_BY_US = (
    frozenset({"samerun", "torch", "numpy", "pyarrow", "xxhash", "triton"}) | sys.stdlib_module_names
)


def is_the_scripts(error: BaseException) -> bool:
    """Whether the script raised an error that came up in code of ours: it must go on to the script then."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        if not _is_ours(trace.tb_next.tb_frame) and _was_given(trace.tb_next.tb_frame, trace.tb_frame):
            return True
        trace = trace.tb_next
    raised = type(error).__module__.partition(".")[0]
    if trace is None or not _is_ours(trace.tb_frame) or raised in _RAISED_BY_US:
        return False
    return not str(trace.tb_frame.f_globals.get("__name__")).startswith(_CALLS_OTHERS)


def ended_by() -> type[BaseException] | None:
    """The type of the error that nobody caught and that ends this process; None where it ends by itself.

    For an atexit function: Python keeps there what it showed last (`sys.last_type`). An error that a prompt
    or IPython caught, and showed, has their frames around it.
    """
    seen = getattr(sys, "last_traceback", None)
    if seen is None or seen.tb_frame.f_back is not None or hasattr(sys, "ps1"):
        return None
    return getattr(sys, "last_type", None)


def _was_given(handler: FrameType, interrupted: FrameType) -> bool:
    """Whether a function was called with the frame that it interrupted, as handlers of signals are."""
    for value in handler.f_locals.values():
        if value is interrupted or (type(value) is tuple and any(item is interrupted for item in value)):
            return True
    return False


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "samerun"
