"""Everything a run needs to go on, taken as plain values."""

from __future__ import annotations

import sys
from typing import Any

import torch

from samerun import ranks
from samerun.errors import StateError
from samerun.state import kinds, rngs, validate
from samerun.state.form import FORMAT, SCHEMA
from samerun.state.to_tree import TreeWriter
from samerun.state.trees import disable_grad


def capture(**objects: Any) -> dict[str, Any]:
    """The state of every generator in play and of the objects given by name, as plain values.

    An object is kept by its `state_dict()` (model, optimizer, scheduler, GradScaler, EMA, samerun's
    DataLoader, anything that has it and `load_state_dict()`); generators of python, numpy and torch by their
    states; None, numbers, strings, bytes, tensors, numpy arrays, and lists, tuples, dicts and sets of these
    as they are. Tensors are cloned to the CPU: training on changes nothing of what was captured. Not kept:
    gradients, buffers outside the state_dict, attributes. The generators are left as they were; beside other
    threads, which may be drawing from them, what a state_dict() itself draws is not taken back.

    Raises StateError that names every object that cannot be kept.
    """
    held: dict[str, dict[str, Any]] = {"objects": {}, "values": {}, "about": {}}
    found: list[str] = []
    generators, alone = rngs.capture(), _is_alone()
    try:
        with disable_grad():
            taker = TreeWriter()
            for name, thing in objects.items():
                try:
                    _take(taker, name, thing, held)
                except StateError as error:
                    found.append(str(error))
    finally:
        # a state_dict() may have drawn from them
        if alone and _is_alone():
            rngs.restore(generators)
        else:  # or a thread that trains, whose draws must not be made again
            generators = rngs.capture()
    if found:
        raise StateError("; ".join(found))
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "torch": str(torch.__version__),
        "rank": ranks.rank(),
        "world_size": ranks.world_size(),
        "devices": ["cpu", *(id_.removeprefix("torch-") for id_ in generators if rngs.is_of_devices(id_))],
        "rng": generators,
        **held,
    }


def _is_alone() -> bool:
    """Whether this is the only thread of the process that runs Python."""
    return len(sys._current_frames()) == 1


def _take(taker: TreeWriter, name: str, thing: Any, held: dict[str, dict[str, Any]]) -> None:
    kind = kinds.find_kind(thing, name)
    try:
        state = kinds.read(thing, kind)
    except Exception as error:  # the object's own code
        raise StateError(f"{name}: its state could not be read ({type(error).__name__}: {error})") from error
    tree, places = taker.take(state, name)
    held["values" if kind == "value" else "objects"][name] = tree
    held["about"][name] = {**validate.describe_thing(thing, kind), "places": places}
