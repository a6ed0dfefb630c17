"""Values → plain trees that share no memory with them."""

from __future__ import annotations

import collections
from typing import Any

import numpy
import torch

from samerun.digest import digest_value
from samerun.digest.values import name_type
from samerun.errors import StateError
from samerun.state.trees import ARRAY_KINDS, LEAVES, MAPPINGS, MARK, SETS, TENSORS, Places, clone, is_key

_SET_NAMES = {kind: name for name, kind in SETS.items()}


class TreeWriter:
    """Takes values as trees. A tensor met twice, whatever holds it, is cloned once and stays one tensor."""

    def __init__(self, *, copies: bool = True) -> None:
        """Without `copies`, tensors on the CPU are taken as they are, for looking at."""
        self._copies = copies
        self._clones: dict[object, tuple[torch.Tensor, torch.Tensor]] = {}
        self._places: list[str] = []
        self._above: set[int] = set()

    def take(self, value: Any, name: str) -> tuple[Any, Places]:
        """The tree of a value, and where its tensors were.

        Raises StateError for what has no place in a tree, saying where under `name` it is.
        """
        self._places, self._above = [], set()
        try:
            tree = self._take(value, name)
        except RecursionError:
            raise StateError(f"{name} is nested too deep for the Python stack; keep its parts") from None
        places = set(self._places)
        return tree, (self._places if len(places) > 1 else places.pop() if places else "cpu")

    def _take(self, value: Any, where: str) -> Any:
        kind = type(value)
        if kind in LEAVES:
            return value
        if kind is bytes:  # torch.load(weights_only=True) reads all but the empty one
            return value or {MARK: "empty bytes"}
        if kind in TENSORS:
            return self._tensor(value, where)
        if kind is numpy.ndarray or isinstance(value, numpy.generic):
            return _convert_array(value, where)
        if kind is bytearray:
            return bytearray(value)
        if kind in (list, tuple) or kind in MAPPINGS or kind in _SET_NAMES:
            return self._container(value, where)
        raise StateError(_describe_not_plain(value, where))

    def _container(self, value: Any, where: str) -> Any:
        if id(value) in self._above:
            raise StateError(f"{where} contains itself; keep what it holds under names of its own")
        self._above.add(id(value))
        kind = type(value)
        if kind in _SET_NAMES:
            items = sorted((self._take(item, f"an item of {where}") for item in value), key=digest_value)
            tree: Any = {MARK: _SET_NAMES[kind], "items": items}
        elif kind in MAPPINGS:
            tree = self._mapping(value, where)
        else:
            tree = kind(self._take(item, f"{where}[{index}]") for index, item in enumerate(value))
        self._above.remove(id(value))
        return tree

    def _mapping(self, value: Any, where: str) -> Any:
        tree: Any = MAPPINGS[type(value)]()
        for key, item in value.items():
            if not is_key(key) or key == MARK:
                raise StateError(
                    f"{where} has the key {key!r} ({name_type(type(key))}); keys are strings, numbers, None "
                    f"and tuples of these, and not {MARK!r}"
                )
            tree[key] = self._take(item, f"{where}[{key!r}]")
        if type(value) is collections.OrderedDict and hasattr(value, "_metadata"):
            tree._metadata = self._take(value._metadata, f"{where}._metadata")  # the modules' versions
        return tree

    def _tensor(self, value: torch.Tensor, where: str) -> torch.Tensor:
        self._places.append(str(value.device))
        if not self._copies and value.is_cpu:
            return value.detach()
        source = _identify_memory(value)
        known = self._clones.get(source)
        if known is None:
            # the value is kept too: were it freed, another tensor could take its address
            known = self._clones[source] = (value, clone(value, "cpu", where))
        return known[1]


def _identify_memory(value: torch.Tensor) -> object:
    """What two tensors of the same elements in the same memory have in common."""
    if value.layout is not torch.strided or value.is_quantized or value.is_meta:
        return id(value)
    place = (value.device, value.untyped_storage().data_ptr(), value.storage_offset())
    return (
        *place,
        value.dtype,
        value.shape,
        value.stride(),
        value.is_conj(),
        value.is_neg(),
        value.requires_grad,
    )


def _convert_array(value: Any, where: str) -> dict[str, Any]:
    array = numpy.asarray(value)
    if array.dtype.kind not in ARRAY_KINDS or (array.size and not array.itemsize):
        raise StateError(
            f"{where} is a numpy array of dtype {array.dtype}, whose bytes are not its value; keep it as a "
            "list, or as arrays of numbers"
        )
    # the order in memory is kept: numpy adds up along it, and the last bit of a sum depends on it
    return {
        MARK: "scalar" if isinstance(value, numpy.generic) else "array",
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "order": "F" if array.flags.fnc else "C",
        "bytes": array.tobytes(order="A") or None,
    }


def _describe_not_plain(value: Any, where: str) -> str:
    kind = name_type(type(value))
    if not isinstance(value, torch.Tensor):
        return (
            f"{where} is a {kind}, which is not a plain value; an object is kept by its state_dict() and "
            "load_state_dict(): give it both"
        )
    if torch.nn.parameter.is_lazy(value):
        return f"{where} has no content yet (a {kind}); run a batch through the model first"
    return f"{where} is a {kind}, whose parts samerun does not know; give it as a plain torch.Tensor"
