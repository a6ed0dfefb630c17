"""What torch.compile made of a part of the program: it runs as ever, and is recorded as one operation.

Its fused kernels write past the dispatcher, so what is inside is not known by operation; what goes
into it and what comes out can. Other backends than Inductor run operations of torch, which are recorded one
by one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from samerun.recording.ops.dispatch_mode import Operations
from samerun.recording.ops.op_schema import Operation
from samerun.wrapping import Parameter, wrap_attribute

_NAME = "torch._inductor.output_code"
# Where torch lacks this, a dispatch mode has torch.compile run everything in eager mode.
IS_COMPILED: bool = hasattr(TorchDispatchMode, "ignore_compile_internals")
_given = Parameter("inputs", 1)
_modes: list[Operations] = []


def observe(mode: Operations) -> None:
    """Record what Inductor compiles, once it is imported."""
    if IS_COMPILED:
        _modes.append(mode)
        if _NAME in sys.modules:
            wrap_graphs()


def wrap_graphs() -> None:
    """Inductor was just imported."""
    for mode in _modes:
        wrap_attribute(sys.modules[_NAME].CompiledFxGraph, "__call__", _run_under(mode))
    _modes.clear()


def _run_under(mode: Operations) -> Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]:
    def run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if mode not in _get_current_dispatch_mode_stack():
            return original(*args, **kwargs)
        inputs = tuple(_given.of(args, kwargs, ()))  # the list itself is emptied by what is called
        call = functools.partial(original, *args, **kwargs)
        return _record_region(mode, _describe_graph(args[0], inputs, call), inputs)

    return run


def _record_region(mode: Operations, operation: Operation, inputs: tuple[Any, ...]) -> Any:
    """Call what was compiled with these inputs, and record it as the one operation that it is now."""
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


def _describe_graph(graph: Any, inputs: tuple[Any, ...], call: Callable[..., Any]) -> Operation:
    """What is known of a compiled graph; it may draw, and says which of its inputs it writes to."""
    part = "backward" if getattr(graph, "fx_kwargs", {}).get("is_backward") else "forward"
    written = tuple(
        number
        for number in sorted(getattr(graph, "mutated_input_idxs", ()))
        if number < len(inputs) and isinstance(inputs[number], torch.Tensor)
    )
    return Operation(
        name=f"inductor.{part}",
        call=call,
        written=written,
        written_names=("",) * len(written),
        draws=True,
    )
