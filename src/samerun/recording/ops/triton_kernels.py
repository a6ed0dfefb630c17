"""Triton kernels that the program launches: each launch is recorded as one operation.

A launch is past the dispatcher. Which of its tensors a kernel writes to is not known, so each of them counts
as put out; memory that nothing has written yet is no input of it. What an autotuner, or a heuristic, is made
of is not recorded by itself: the launch in the end is, with the configuration that was chosen.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from samerun.recording.ops import regions
from samerun.recording.ops.dispatch_mode import Operations
from samerun.recording.ops.op_schema import Operation
from samerun.wrapping import wrap_attribute

# The classes of what `@triton.jit`, `@triton.autotune` and `@triton.heuristics` make, by their modules.
CLASSES = {
    "triton.runtime.jit": ("JITFunction",),
    "triton.runtime.autotuner": ("Autotuner", "Heuristics"),
    "triton.runtime.interpreter": ("InterpretedFunction",),
}
_OURS = "samerun."

_modes: list[Operations] = []


def observe(mode: Operations) -> None:
    """Record the launches of kernels, once Triton is imported."""
    _modes.append(mode)
    for module in CLASSES:
        if module in sys.modules:
            wrap_launches(module)


def wrap_launches(name: str) -> None:
    """A module of CLASSES was just imported."""
    module = sys.modules[name]
    for mode in _modes:
        for kind in CLASSES[name]:
            if hasattr(module, kind):
                wrap_attribute(getattr(module, kind), "run", _run_under(mode))


def _run_under(mode: Operations) -> Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]:
    def run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = functools.partial(original, *args, **kwargs)
        if not args or kwargs.get("warmup") or mode.cursor.local.compiled or not regions.are_recorded(mode):
            return call()
        function = _find_function(args[0])
        if getattr(function, "__module__", "").startswith(_OURS):
            return call()
        given = (*args[1:], *(value for name, value in kwargs.items() if name not in ("grid", "warmup")))
        tensors = tuple(number for number, value in enumerate(given) if isinstance(value, torch.Tensor))
        name = f"triton.{getattr(function, '__name__', 'kernel')}"
        written = Operation(name=name, call=call, written=tensors, written_names=("",) * len(tensors))
        return regions.record(mode, written, given)

    return run


def _find_function(kernel: Any) -> Any:
    """The function that was decorated."""
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel
