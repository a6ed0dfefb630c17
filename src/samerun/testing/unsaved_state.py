"""What a training holds besides its `objects`: nothing of it is in a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch.utils.data import DataLoader, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from samerun.errors import SamerunError
from samerun.ranks.named_digests import Entry, entries
from samerun.testing.find_generators import KINDS, generators_in

_DEEP = 4


@dataclass(frozen=True)
class Held:
    """Something that is not saved.

    `stateful`: it is a state beyond doubt (a module, anything with `state_dict()`, tensors, a generator), and
    no history of losses or start time. `entries` are empty for a loader that does not tell its position.
    """

    name: str
    kind: str
    entries: tuple[Entry, ...]
    stateful: bool


def unsaved(training: Any) -> list[Held]:
    """All that `training` holds in its attributes and not in its `objects`, and generators inside these."""
    objects = training.objects
    found: list[Held] = []
    for name, value in getattr(training, "__dict__", {}).items():
        if name != "objects":
            found += _held(value, name, objects, _DEEP)
    for name, value in objects.items():
        found += _generators(value, name, objects)
    return found


def _held(value: Any, name: str, objects: Mapping[str, Any], depth: int) -> Iterator[Held]:
    if any(value is saved for saved in objects.values()):
        return
    kind = type(value).__name__
    try:
        yield Held(name, kind, tuple(entries(value, name)), _is_state(value))
        return
    except SamerunError:  # it has no content that is known here
        pass
    if isinstance(value, (DataLoader, Sampler, _BaseDataLoaderIter)):
        yield Held(name, kind, (), stateful=False)
        yield from _generators(value, name, objects)
    elif depth:
        for key, part in getattr(value, "__dict__", {}).items():
            yield from _held(part, f"{name}.{key}", objects, depth - 1)


def _generators(value: Any, name: str, objects: Mapping[str, Any]) -> Iterator[Held]:
    for path, generator in generators_in(value, name).items():
        if not any(generator is saved for saved in objects.values()):
            yield Held(path, type(generator).__name__, tuple(entries(generator, path)), stateful=True)


def _is_state(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_state, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_state, value))
    if isinstance(value, (torch.Tensor, numpy.ndarray, torch.nn.Module, *KINDS)):
        return True
    return callable(getattr(value, "state_dict", None))
