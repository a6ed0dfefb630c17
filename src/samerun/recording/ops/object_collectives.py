"""Collectives of Python objects: their operations handle bytes of a pickle, which are no data of a training.

`all_gather_object` pads each pickle with memory that nothing wrote, and cuts it off again; a pickle may hold
a time or a path. What the objects are used for is recorded where it enters torch again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from samerun.recording.step_cursor import StepCursor
from samerun.wrapping import wrap_attribute

_MODULE = "torch.distributed.distributed_c10d"
# A list of objects is one tensor on the way.
_COLLECTIVES = (
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
)


def observe(cursor: StepCursor) -> None:
    """Record no operation that one of them makes."""
    module: Any = sys.modules.get(_MODULE)
    local = cursor.local

    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before, local.paused = local.paused, True
        try:
            return original(*args, **kwargs)
        finally:
            local.paused = before

    for name in _COLLECTIVES:
        if hasattr(module, name):  # none in a torch without distributed training
            wrap_attribute(module, name, call, [sys.modules["torch.distributed"]])
