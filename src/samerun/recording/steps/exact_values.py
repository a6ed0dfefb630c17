"""Whether a batch holds integers and bytes alone: no rounding makes it another one on another machine."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterable
from typing import Any

import torch

_DTYPES = frozenset(
    {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
)  # those of ids, masks, labels and pixels
_PLAIN = frozenset({int, bool, str, bytes, type(None)})
_DEEPEST, _MOST = 8, 1024


def is_exact(value: Any, depth: int = 0) -> bool:
    """Of plain types alone, whose own code nobody replaced; what is another is not known to be."""
    kind = type(value)
    if kind is torch.Tensor:
        return value.dtype in _DTYPES
    if kind in _PLAIN:
        return True
    inside = _list_inside(value, kind)
    if inside is None or depth == _DEEPEST:
        return False
    items = list(inside)
    return len(items) <= _MOST and all(is_exact(item, depth + 1) for item in items)


def _list_inside(value: Any, kind: type) -> Iterable[Any] | None:
    if kind is list or kind is tuple:
        return value  # type: ignore[no-any-return]
    if issubclass(kind, UserDict):  # transformers' batches
        value = vars(value).get("data")
    return value.values() if type(value) is dict else None
