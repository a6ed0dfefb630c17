"""Work that is past the dispatcher, and known as a whole: it is recorded as one operation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from samerun.recording.ops.dispatch_mode import Operations
from samerun.recording.ops.op_schema import Operation


def are_recorded(mode: Operations) -> bool:
    """Whether operations are recorded here and now."""
    return mode in _get_current_dispatch_mode_stack()


def record(mode: Operations, operation: Operation, inputs: tuple[Any, ...]) -> Any:
    """Make the call of `operation`, whatever it is made of, and record it as one that was given `inputs`."""
    cursor, sink = mode.cursor, mode.sink
    local = cursor.local
    if local.paused or local.compiled or sink.failed or (cursor.child and cursor.in_worker):
        return operation.call()
    local.paused = True
    try:
        pending, aside = mode.look_before(operation, inputs, {})
        mode.places.remember_node(pending.module, pending.call_site)
    except Exception as error:
        sink.fail(error)
        return operation.call()
    finally:
        local.paused = False
    local.compiled = True
    try:
        result = operation.call()
    finally:
        local.compiled = False
    local.paused = True
    try:
        mode.memory.doubt()  # it wrote past the dispatcher
        every = tuple(range(len(result))) if isinstance(result, (list, tuple)) else ()
        mode.record(replace(operation, new=every), inputs, {}, result, pending, aside)
    except Exception as error:
        sink.fail(error)
    finally:
        local.paused = False
    return result
