"""Lists, dicts and sets, written in place with all that they hold: an optimizer may have the same tensors."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from samerun.digest import digest_value
from samerun.state.trees import TENSORS


def write(value: list[Any] | dict[Any, Any] | set[Any], state: Any) -> None:
    """Give it the content of `state`.

    A tensor, an array, a list or a dict inside that fits what it is given is written in place as well, and
    stays the object that it is; what does not fit is replaced.
    """
    _Writer().write(value, state)


class _Writer:
    def __init__(self) -> None:
        self._written: dict[int, tuple[Any, bytes]] = {}  # by id, with the digest of what it was given

    def write(self, value: Any, state: Any) -> None:
        if isinstance(value, list):
            state = list(state)
            old = [*value, *[None] * (len(state) - len(value))]
            value[:] = [self._merge(mine, given) for mine, given in zip(old, state, strict=False)]
        elif isinstance(value, dict):
            merged = {key: self._merge(value.get(key), given) for key, given in state.items()}
            value.clear()
            value.update(merged)
        else:
            value.clear()
            value.update(state)

    def _merge(self, mine: Any, given: Any) -> Any:
        """What stands for `given`: `mine`, with its content, where it can be that."""
        if type(mine) is tuple and type(given) is tuple and len(mine) == len(given):
            merged = tuple(map(self._merge, mine, given))
            return mine if all(one is two for one, two in zip(mine, merged, strict=True)) else merged
        if not _can_hold(mine, given):
            return given
        digest = digest_value(given)
        if id(mine) in self._written and self._written[id(mine)][1] != digest:
            return given  # it stands for two things that are not the same any more
        self._written[id(mine)] = mine, digest
        try:
            if isinstance(mine, torch.Tensor):
                mine.copy_(given)
            elif isinstance(mine, numpy.ndarray):
                mine[...] = given
            else:
                self.write(mine, given)
        except (RuntimeError, ValueError):  # memory that is shared within itself, or read-only
            return given
        return mine


def _can_hold(mine: Any, given: Any) -> bool:
    if type(mine) in TENSORS and type(given) in TENSORS:  # a tree does not tell a parameter from a tensor
        return _describe(mine) == _describe(given)
    if type(mine) is not type(given):
        return False
    if isinstance(mine, numpy.ndarray):
        return bool(mine.dtype == given.dtype and mine.shape == given.shape and mine.dtype.kind != "O")
    return isinstance(mine, (list, dict, set))


def _describe(tensor: torch.Tensor) -> tuple[Any, ...]:
    plain = tensor.layout is torch.strided and not tensor.is_quantized
    return tensor.dtype, tensor.shape, tensor.device, tensor.requires_grad, plain or object()
