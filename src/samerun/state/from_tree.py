"""Plain trees → values, on the devices where they were."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy
import torch

from samerun.errors import StateError
from samerun.state.trees import MAPPINGS, MARK, SETS, Places, clone, walk_tensors


class TreeReader:
    """Gives values that share no memory with their trees; what was one tensor is one tensor again."""

    def __init__(self, *trees: Any) -> None:
        """`trees` are all that will be given: in which tensors occur more than once."""
        times = Counter(map(id, walk_tensors(trees)))
        self._shared = {tensor for tensor, count in times.items() if count > 1}
        self._made: dict[tuple[int, str], torch.Tensor] = {}

    def give(self, tree: Any, places: Places = "cpu") -> Any:
        """The value of a tree whose tensors were at these places."""
        self._all = places if isinstance(places, str) else None
        self._each = iter(() if isinstance(places, str) else places)
        return self._give(tree)

    def _give(self, tree: Any) -> Any:
        kind = type(tree)
        if isinstance(tree, torch.Tensor):
            return self._tensor(tree)
        if kind is list or kind is tuple:
            return kind(self._give(item) for item in tree)
        if kind is bytearray:
            return bytearray(tree)
        if kind is dict and MARK in tree:
            return self._marked(tree)
        if kind in MAPPINGS:
            value: Any = kind()
            for key, item in tree.items():
                value[key] = self._give(item)
            if hasattr(tree, "_metadata"):
                value._metadata = self._give(tree._metadata)
            return value
        return tree

    def _marked(self, tree: dict[str, Any]) -> Any:
        if tree[MARK] in SETS:
            return SETS[tree[MARK]](self._give(item) for item in tree["items"])
        return b"" if tree[MARK] == "empty bytes" else make_array(tree)

    def _tensor(self, tree: torch.Tensor) -> torch.Tensor:
        place = self._all or next(self._each)
        known = self._made.get((id(tree), place))
        if known is None:
            known = clone(tree, find_device(place), "a tensor")
            if id(tree) in self._shared:  # the others are not held for longer than their new owners need them
                self._made[id(tree), place] = known
        return known


def make_array(tree: dict[str, Any]) -> Any:
    """The numpy array or scalar of its tree, which `samerun.state.form` has looked at."""
    content = bytearray(tree["bytes"] or b"")
    try:
        array = numpy.ndarray(tree["shape"], tree["dtype"], content, order=tree["order"])
    except ValueError as error:  # too many dimensions, or an empty one beside one of 2**62
        raise StateError(f"an array of shape {tree['shape']} cannot be made: {error}") from error
    array = array.copy(order="K")  # aligned, and its own
    return array[()] if tree[MARK] == "scalar" else array


def find_device(place: str) -> str:
    """The device of that name; when this process has not got it, another of its type, else the CPU."""
    kind, _, index = place.partition(":")
    if kind == "cpu":
        return "cpu"
    try:
        module = torch.get_device_module(kind)
    except RuntimeError:  # a type that this torch was not built with
        return "cpu"
    if not module.is_available():
        return "cpu"
    return place if int(index or 0) < module.device_count() else f"{kind}:{module.current_device()}"
