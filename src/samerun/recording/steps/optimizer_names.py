"""What optimizers and their parameters are called in the records."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import chain
from operator import is_
from typing import NamedTuple

import torch
from torch.optim.optimizer import Optimizer

from samerun.recording.steps.modules import Modules


class _Named(NamedTuple):
    """The parameters of an optimizer, in the order of its groups."""

    parameters: list[torch.Tensor]
    names: list[str]


class OptimizerNames:
    """Remembers the names that it gave."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._labels: weakref.WeakKeyDictionary[Optimizer, str] = weakref.WeakKeyDictionary()
        self._names: weakref.WeakKeyDictionary[Optimizer, _Named] = weakref.WeakKeyDictionary()

    def labels(self) -> list[tuple[Optimizer, str]]:
        """The optimizers that are still there, with their labels."""
        return list(self._labels.items())

    def label(self, optimizer: Optimizer) -> str:
        """Its class; with a number where there are several of one."""
        label = self._labels.get(optimizer)
        if label is None:
            kind = type(optimizer).__name__
            same = sum(1 for other in self._labels if type(other).__name__ == kind)
            label = self._labels[optimizer] = f"{kind}#{same}" if same else kind
        return label

    def name_parameters(self, optimizer: Optimizer, parameters: Sequence[torch.Tensor]) -> list[str]:
        """The names of an optimizer's parameters, which stand in the order of its groups."""
        known = self._names.get(optimizer)
        if known is None or not _are_same(known.parameters, parameters):
            by_id = self._modules.parameter_names()
            names = [by_id.get(id(parameter), f"parameter{n}") for n, parameter in enumerate(parameters)]
            if known is not None and known.names == names:
                names = known.names
            known = self._names[optimizer] = _Named(list(parameters), names)
        return known.names


def list_parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    """The parameters of all its groups, in their order."""
    return list(chain.from_iterable(group["params"] for group in optimizer.param_groups))


def _are_same(known: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor]) -> bool:
    return len(known) == len(tensors) and all(map(is_, known, tensors))
