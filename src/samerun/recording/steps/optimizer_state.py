"""The tensors and numbers that an optimizer keeps for its parameters, found without asking for each anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, groupby
from operator import is_, itemgetter
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
        is_plain = set(map(type, self._states)) == {dict}
        self._count = sum(map(len, self._states)) if is_plain else 0
        if self._count != len(found.tensors):
            self._count = 0
        alike = groupby(self._states, tuple) if self._count else ()
        self._stretches = [(keys, itemgetter(*keys), list(of_them)) for keys, of_them in alike if keys]

    def values(self, states: Mapping[Any, Any]) -> list[Any] | None:
        """What is at the places of the tensors, if there is nothing else, under the same keys; else None."""
        if not self._count or len(states) != len(self._all) or not all(map(is_, states.values(), self._all)):
            return None
        if sum(map(len, self._states)) != self._count:
            return None
        values: list[Any] = []
        try:
            for keys, get, of_them in self._stretches:
                found = map(get, of_them)
                values.extend(found if len(keys) == 1 else chain.from_iterable(found))
        except KeyError:  # another one came in the place of one
            return None
        return values


def are_tensors(values: Sequence[Any]) -> bool:
    """Whether all of them are tensors, of no subclass."""
    return set(map(type, values)) == _TENSOR
