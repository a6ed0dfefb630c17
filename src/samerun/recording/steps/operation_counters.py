"""Libraries that call a model to count its operations.

What they give it is often memory that nothing wrote, and nothing of it reaches a training.
"""

from __future__ import annotations

import types

_COUNTERS = frozenset({"thop", "ptflops", "torchinfo", "torchsummary", "torchsummaryX", "calflops"})


def is_counter(frame: types.FrameType | None) -> bool:
    """Whether a model is called by a library that counts operations."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package != "torch":  # DataParallel calls the model in its turn
            return package in _COUNTERS
        frame = frame.f_back
    return False
