"""Passes by which torch's pipelining learns shapes: over memory that nobody has written, and of no effect.

Their inputs, outputs and gradients are others in each run, and are thrown away.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from samerun.wrapping import wrap_attribute

MODULE = "torch.distributed.pipelining.stage"
_PASSES = ("_shape_inference", "_forward_metadata_inference", "_backward_metadata_inference")


def leave_out(pausing: Callable[[], AbstractContextManager[None]]) -> None:
    """Have these passes made while `pausing()` holds the recorder."""

    def make(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with pausing():
            return original(*args, **kwargs)

    for kind in list(vars(sys.modules[MODULE]).values()):
        for name in _PASSES if isinstance(kind, type) else ():
            if name in vars(kind):
                wrap_attribute(kind, name, make)
