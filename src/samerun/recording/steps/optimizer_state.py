"""The tensors and numbers that an optimizer keeps for its parameters, found without asking for each anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Any, NamedTuple

import torch

_EMPTY: Mapping[str, Any] = {}
_TENSOR = frozenset({torch.Tensor})


class StateTensors(NamedTuple):
    """What was found, in the order of the parameters."""

    names: list[str]  # of the tensors: the parameter's and the key
    tensors: list[torch.Tensor]
    numbers: list[tuple[str, int | float]]  # with their keys
    states: list[Any]  # the mapping of each parameter that has one


def find(states: Mapping[Any, Any], parameters: Sequence[torch.Tensor], names: Sequence[str]) -> StateTensors:
    """The tensors and numbers of an optimizer's state."""
    found = StateTensors([], [], [], [])
    for name, parameter in zip(names, parameters, strict=True):
        state = states.get(parameter, _EMPTY)
        if state is not _EMPTY:
            found.states.append(state)
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                found.names.append(f"{name}.{key}")
                found.tensors.append(value)
            elif isinstance(value, (int, float)):
                found.numbers.append((key, value))
    return found


class State:
    """Where the state of one optimizer lies, as long as nothing comes or goes."""

    def __init__(
        self, names: list[str], of_parts: list[str], states: Mapping[Any, Any], found: StateTensors
    ) -> None:
        self.names = names  # of the parameters
        self.of_parts = of_parts
        self._all = list(states.values())
        self._states = found.states
        # Of plain dictionaries of tensors alone: nobody else's code is asked then, and nothing is left out.
        values = list(chain.from_iterable(map(dict.values, self._states))) if self._is_plain() else []
        self._count = len(values) if len(values) == len(found.tensors) else 0
        self._keys = list(chain.from_iterable(self._states)) if self._count else []

    def _is_plain(self) -> bool:
        return set(map(type, self._states)) == {dict}

    def tensors(self, states: Mapping[Any, Any]) -> list[torch.Tensor] | None:
        """The tensors, if they are all that there is, under the keys that there were; else None."""
        if not self._count or len(states) != len(self._all) or not all(map(is_, states.values(), self._all)):
            return None
        if list(chain.from_iterable(self._states)) != self._keys:
            return None
        values = list(chain.from_iterable(map(dict.values, self._states)))
        return values if set(map(type, values)) == _TENSOR else None
