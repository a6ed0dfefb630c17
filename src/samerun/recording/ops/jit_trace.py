"""What torch.jit.trace is to see: the program's operations alone, with no mode between it and them.

A dispatch mode, whatever it does, changes the graph: what the tracer holds for a number that came of a tensor
(a size, an item) is lost on the way through Python, or handed to the next operation in a tensor's place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from samerun.recording.ops.dispatch_mode import Operations
from samerun.wrapping import wrap_attribute

_TRACERS = {
    torch._C: (
        "_create_function_from_trace",
        "_create_function_from_trace_with_dict",
        "_create_graph_by_tracing",
    ),
    torch._C.ScriptModule: ("_create_method_from_trace", "_create_method_from_trace_with_dict"),
}


def observe(mode: Operations) -> None:
    """Take the mode off while a graph is traced, where it is the innermost one, and say so in the record."""

    def traced(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _get_current_dispatch_mode_stack()[-1:] != [mode]:
            return original(*args, **kwargs)
        mode.recorder.journal.note(
            "note", "jit-trace", detail="what torch.jit.trace traces is not recorded at tier ops"
        )
        mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        try:
            return original(*args, **kwargs)
        finally:
            mode.__enter__()  # type: ignore[no-untyped-call]

    for owner, names in _TRACERS.items():
        for name in names:
            if hasattr(owner, name):  # not in every version of torch
                wrap_attribute(owner, name, traced)
