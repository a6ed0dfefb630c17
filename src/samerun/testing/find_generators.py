"""The generators that an object holds, however deep: `dataset.transforms[1].rng`."""

from __future__ import annotations

import random
import types
from collections.abc import Iterator
from typing import Any

import numpy
import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

KINDS = (random.Random, numpy.random.Generator, numpy.random.RandomState, torch.Generator)
_DEEP = 8
_LONG = 100  # a longer list holds data, not transforms
_MANY = 10_000  # objects looked at
_CLOSED = (type, types.ModuleType, types.FunctionType, torch.Tensor, numpy.ndarray, _BaseDataLoaderIter)
_MACHINERY = frozenset(
    {"multiprocessing", "threading", "_thread", "queue", "concurrent", "subprocess", "logging"}
)


def find_generators(value: Any, name: str = "") -> dict[str, Any]:
    """The generators of python, numpy and torch that `value` is or holds, each by its path from `name`."""
    seen: dict[int, Any] = {}
    return dict(_walk(value, name, seen, _DEEP))


def _walk(value: Any, name: str, seen: dict[int, Any], depth: int) -> Iterator[tuple[str, Any]]:
    if id(value) in seen or depth == 0 or len(seen) > _MANY:
        return
    if isinstance(value, KINDS):
        seen[id(value)] = value
        yield name, value
        return
    for part_name, part in _list_parts(value, name):
        seen[id(value)] = value
        yield from _walk(part, part_name, seen, depth - 1)


def _list_parts(value: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(value, _CLOSED) or type(value).__module__.partition(".")[0] in _MACHINERY:
        return []
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{index}]", part) for index, part in enumerate(value[:_LONG])]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", value[key]) for key in list(value)[:_LONG]]
    held = getattr(value, "__dict__", {})
    return [(f"{name}.{key}" if name else key, part) for key, part in held.items()]
