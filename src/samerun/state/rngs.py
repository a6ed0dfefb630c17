"""The generators of this process: every RNG source of the catalogue that is in play, on every device."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy.random  # noqa: F401  imported here, numpy's generator is in play in every process that keeps a state
import torch

from samerun.sources.base.rng import Rng
from samerun.sources.base.torch_rng import TorchRng
from samerun.sources.catalogue import find_sources
from samerun.sources.torch_cpu import TorchCpu
from samerun.state.trees import find_differing


def list_sources() -> dict[str, Rng]:
    """The RNG sources in play, by id."""
    every = find_sources().values()
    return {source.id: source for source in every if isinstance(source, Rng) and source.in_play()}


def capture() -> dict[str, Any]:
    """Their states, by id."""
    return {id_: source.capture() for id_, source in list_sources().items()}


def list_problems(saved: Mapping[str, Any], seeded: Container[str] = ()) -> list[str]:
    """What stands against restoring these states here, in words; changes nothing.

    Sources that are to be seeded need no state.
    """
    found = [problem for problem in (explain_misfit(id_, state) for id_, state in saved.items()) if problem]
    return found + [
        f"{id_}: in use here, and the state has nothing of it; restore a state captured with it in use"
        for id_ in list_sources()
        if id_ not in saved and id_ not in seeded
    ]


def explain_misfit(id_: str, state: Any) -> str | None:
    """Why the state of a source cannot be restored here, in words; None when it can."""
    if not is_known(id_):
        return f"{id_}: this samerun knows no such source; use the samerun that saved it"
    if not is_of_devices(id_):
        return None
    kind = id_.removeprefix("torch-")
    count = _get_device_module(id_).device_count() if _get_device_module(id_).is_available() else 0
    if len(state) == count:
        return None
    return (
        f"{id_}: the state has the generators of {len(state)} {kind} devices, and this process has {count}; "
        "run with as many (for CUDA, see CUDA_VISIBLE_DEVICES)"
    )


def restore(saved: Mapping[str, Any]) -> None:
    """Put these states back, on devices that need not be in use yet."""
    for id_, state in saved.items():
        if id_ not in list_sources():
            _get_device_module(id_).init()
        source = find_sources()[id_]
        assert isinstance(source, Rng)
        source.restore(state)


def reseed(seeds: Mapping[str, int]) -> None:
    """Seed these sources with 64 bits each."""
    for id_, seed in seeds.items():
        source = find_sources()[id_]
        assert isinstance(source, Rng)
        source.reseed(seed)


def list_unrestored(saved: Mapping[str, Any]) -> list[str]:
    """What is not as saved, in words."""
    now = capture()
    found = (find_differing(state, now.get(id_), id_) for id_, state in saved.items())
    return [one for one in found if one is not None]


def is_known(id_: str) -> bool:
    """Whether the catalogue has an RNG source of this id."""
    return isinstance(find_sources().get(id_), Rng)


def is_of_devices(id_: str) -> bool:
    """Whether a source has one generator for each device of a type other than the CPU."""
    return isinstance(find_sources().get(id_), TorchRng) and id_ != TorchCpu.id


def _get_device_module(id_: str) -> Any:
    """The module of a type of device, which has functions without types."""
    return torch.get_device_module(id_.removeprefix("torch-"))
