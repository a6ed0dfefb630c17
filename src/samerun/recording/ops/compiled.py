"""What torch.compile made of a part of the program: it runs as ever, and is recorded as one operation.

Its fused kernels write past the dispatcher, so what is inside is not known by operation; what goes
into it and what comes out can. Other backends than Inductor run operations of torch, which are recorded one
by one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from samerun.recording.ops import regions
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
        if not regions.are_recorded(mode):
            return original(*args, **kwargs)
        inputs = tuple(_given.of(args, kwargs, ()))  # the list itself is emptied by what is called
        call = functools.partial(original, *args, **kwargs)
        return regions.record(mode, _describe_graph(args[0], inputs, call), inputs)

    return run


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
