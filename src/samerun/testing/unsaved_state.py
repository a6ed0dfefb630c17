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
from samerun.ranks.named_digests import Entry, list_entries
from samerun.testing.find_generators import KINDS, find_generators

_DEEP = 4


@dataclass(frozen=True)
class UnsavedObject:
    """Something that is not saved.

    `stateful`: it is a state beyond doubt (a module, anything with `state_dict()`, tensors, a generator), and
    no history of losses or start time. `list_entries` are empty for a loader that does not tell its position.
    """

    name: str
    kind: str
    entries: tuple[Entry, ...]
    stateful: bool


def find_unsaved(training: Any) -> list[UnsavedObject]:
    """All that `training` holds in its attributes and not in its `objects`, and generators inside these."""
    objects = training.objects
    found: list[UnsavedObject] = []
    for name, value in getattr(training, "__dict__", {}).items():
        if name != "objects":
            found += _walk_held(value, name, objects, _DEEP)
    for name, value in objects.items():
        found += _walk_generators(value, name, objects)
    return found


def _walk_held(value: Any, name: str, objects: Mapping[str, Any], depth: int) -> Iterator[UnsavedObject]:
    if any(value is saved for saved in objects.values()):
        return
    kind = type(value).__name__
    try:
        yield UnsavedObject(name, kind, tuple(list_entries(value, name)), _is_state(value))
        return
    except SamerunError:  # it has no content that is known here
        pass
    if isinstance(value, (DataLoader, Sampler, _BaseDataLoaderIter)):
        yield UnsavedObject(name, kind, (), stateful=False)
        yield from _walk_generators(value, name, objects)
    elif depth:
        for key, part in getattr(value, "__dict__", {}).items():
            yield from _walk_held(part, f"{name}.{key}", objects, depth - 1)


def _walk_generators(value: Any, name: str, objects: Mapping[str, Any]) -> Iterator[UnsavedObject]:
    for path, generator in find_generators(value, name).items():
        if not any(generator is saved for saved in objects.values()):
            yield UnsavedObject(
                path, type(generator).__name__, tuple(list_entries(generator, path)), stateful=True
            )


def _is_state(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_state, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_state, value))
    if isinstance(value, (torch.Tensor, numpy.ndarray, torch.nn.Module, *KINDS)):
        return True
    return callable(getattr(value, "state_dict", None))
