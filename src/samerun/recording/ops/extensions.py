"""Functions of compiled extensions: each call of one that is given a tensor is recorded as one operation.

An extension writes through pointers, past the dispatcher; what it calls of torch would be seen, and what it
writes itself would not. Which tensors it writes to is not known, so each of them counts as put out.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from samerun.recording.ops import regions
from samerun.recording.ops.dispatch_mode import Operations
from samerun.recording.ops.op_schema import Operation, list_tensors
from samerun.sources.foreign_kernels import EXTENSIONS
from samerun.wrapping import Undo, replace, undo_all, wrap, wrap_attribute

_LOADER = "torch.utils.cpp_extension"
WATCHED = (*EXTENSIONS, _LOADER)
_BUILT_IN = (types.BuiltinFunctionType, types.BuiltinMethodType)

_modes: list[Operations] = []


def observe(mode: Operations) -> None:
    """Record the calls of extensions, as they are imported or built."""
    _modes.append(mode)
    for module in WATCHED:
        if module in sys.modules:
            wrap_extension(module)


def wrap_extension(name: str) -> None:
    """A module of WATCHED was just imported."""
    for mode in _modes:
        if name == _LOADER:
            _wrap_what_is_built(mode)
        else:
            _wrap_functions(mode, sys.modules[name])


def _wrap_what_is_built(mode: Operations) -> None:
    def load(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        module = original(*args, **kwargs)
        if isinstance(module, types.ModuleType):
            _wrap_functions(mode, module)
        return module

    loader: Any = sys.modules[_LOADER]
    if hasattr(loader, "_import_module_from_library"):
        wrap_attribute(loader, "_import_module_from_library", load)


def _wrap_functions(mode: Operations, module: types.ModuleType) -> Undo:
    return undo_all(list(_replace_functions(mode, module)))


def _replace_functions(mode: Operations, module: types.ModuleType) -> Iterator[Undo]:
    for name, function in list(vars(module).items()):
        if isinstance(function, _BUILT_IN) and not name.startswith("__"):
            yield replace(module, name, wrap(function, _run_under(mode, f"{module.__name__}.{name}")))


def _run_under(
    mode: Operations, name: str
) -> Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]:
    def run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = functools.partial(original, *args, **kwargs)
        if mode.cursor.local.compiled or not regions.are_recorded(mode):
            return call()
        given = (*args, *kwargs.values())
        tensors = tuple(number for number, value in enumerate(given) if list_tensors(value))
        if not tensors:
            return call()
        operation = Operation(name=name, call=call, written=tensors, written_names=("",) * len(tensors))
        return regions.record(mode, operation, given)

    return run
