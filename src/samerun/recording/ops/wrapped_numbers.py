"""Numbers that torch hands to a dispatch mode in the place of a tensor.

A tensor that was made from a number (`x + 2.0` in C++, a constant in a graph of torch.jit) comes through
Python as that number. Operations that take numbers for tensors, as add does, take it back; others refuse it.
"""

from __future__ import annotations

from typing import Any

import torch

# As torch wraps them (c10's scalar_to_tensor).
_KINDS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def convert_to_tensors(func: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with tensors where the schema has one and a number was given; None without such."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return None
    given = list(args)
    for position, (argument, value) in enumerate(zip(schema.arguments, args, strict=False)):
        kind = _KINDS.get(type(value))
        if kind is not None and isinstance(argument.type, torch.TensorType):
            given[position] = torch.tensor(value, dtype=kind)
    return None if all(new is old for new, old in zip(given, args, strict=True)) else tuple(given)
