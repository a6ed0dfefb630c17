"""Is this a state that `capture` gives? Looked at before anything is made of it.

A file may be forged: its label and its digests are no secret. torch.load(weights_only=True) runs nothing of
it, but lets any dict, list, number and tensor through; made into an array, eight bytes of a stranger's are a
pointer. So each node is one that `samerun.state.to_tree` makes, or the whole is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy

from samerun.errors import StateError
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.state.kinds import KINDS
from samerun.state.trees import ARRAY_KINDS, LEAVES, MAPPINGS, MARK, SETS, TENSORS, is_key, walk_tensors

FORMAT: Final = "samerun.state"
SCHEMA: Final = 1
_MAX_DEPTH: Final = 200  # digests, which are made of what is saved, go to 100
_HASHABLE_MARKS: Final = frozenset({"frozenset", "scalar", "empty bytes"})
_PARTS: Final = {
    "torch": str,
    "rank": int,
    "world_size": int,
    "devices": list,
    "rng": dict,
    "objects": dict,
    "values": dict,
    "about": dict,
}


def check_form(state: Any) -> None:
    """Raise StateError unless `state` is one of samerun's, of a schema known here."""
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        raise StateError(
            f"this is no state of samerun ({type(state).__name__}); pass what samerun.state.capture() gave. "
            "samerun.state.audit() says what another checkpoint holds"
        )
    if state.get("schema") != SCHEMA:
        raise StateError(
            f"the state has schema {state.get('schema')}, and this samerun knows {SCHEMA}; use the samerun "
            "that made it"
        )
    try:
        _check(state)
    except (_Misfit, RecursionError) as misfit:
        raise StateError(
            f"the state is not as samerun.state.capture() makes it: {misfit}; it was changed, or made by "
            "something else"
        ) from None


class _Misfit(Exception):
    """What is not as it should be, in words."""


def _check(state: Mapping[str, Any]) -> None:
    for key, kind in _PARTS.items():
        _demand(isinstance(state.get(key), kind), f"{key!r} is a {type(state.get(key)).__name__}")
    objects, values, about = state["objects"], state["values"], state["about"]
    _demand(objects.keys().isdisjoint(values), "a name is of an object and of a value")
    _demand(about.keys() == {*objects, *values}, "what is said is not of what is kept")
    walk = _Walk()
    for name, said in about.items():
        _demand(isinstance(name, str), "a name is no string")
        tree = objects[name] if name in objects else values[name]
        walk.check(tree, name)
        _check_about(said, tree, name)
        _demand((said["kind"] == "value") == (name in values), f"{name} is kept as another kind of thing")
    for id_, states in state["rng"].items():
        _check_generators(id_, states)


def _check_about(said: Any, tree: Any, name: str) -> None:
    _demand(isinstance(said, dict), f"what is said of {name} is no dict")
    _demand(said.get("kind") in KINDS and isinstance(said.get("type"), str), f"{name} is of no kind")
    places = said.get("places")
    if isinstance(places, list):
        tensors = sum(1 for _ in walk_tensors(tree))
        _demand(len(places) == tensors, f"{name} has {tensors} tensors and {len(places)} places")
    for place in places if isinstance(places, list) else [places]:
        _demand(isinstance(place, str) and _is_device(place), f"{name} has the place {place!r}")
    if said["kind"] == "optimizer":
        _check_optimizer(said.get("parameters"), tree, name)
    elif said["kind"] == "module":
        _demand(isinstance(tree, dict) and MARK not in tree, f"{name} is no state of a module")


def _check_optimizer(parameters: Any, tree: Any, name: str) -> None:
    groups = tree.get("param_groups") if isinstance(tree, dict) else None
    listed = isinstance(parameters, list) and all(
        isinstance(group, list) and all(isinstance(one, str) for one in group) for group in parameters
    )
    _demand(
        listed
        and isinstance(groups, list)
        and len(groups) == len(parameters)
        and all(isinstance(group, dict) and isinstance(group.get("params"), list) for group in groups)
        and isinstance(tree.get("state"), dict)
        and all(isinstance(of, dict) for of in tree["state"].values()),
        f"{name} is no state of an optimizer",
    )


def _check_generators(id_: Any, states: Any) -> None:
    """Only how they are made up; what is in them is looked at as they are put back."""
    source = find_sources().get(id_) if isinstance(id_, str) else None
    if not isinstance(source, Rng):
        return  # refused with a word of its own
    if id_.startswith("torch-"):
        fits = isinstance(states, list) and all(isinstance(state, bytes) for state in states)
    else:
        fits = isinstance(states, (dict, list, tuple))
    _demand(fits, f"{id_} has no state of a generator")


class _Walk:
    """Through the trees of one state. A container met twice would be walked for ever, or 2**100 times."""

    def __init__(self) -> None:
        self._met: set[int] = set()

    def check(self, tree: Any, where: str, depth: int = 0) -> None:
        """Demand that each node is one that the Taker makes."""
        kind = type(tree)
        if kind in LEAVES or kind in TENSORS or kind is bytes or kind is bytearray:
            return
        _demand(depth < _MAX_DEPTH, f"{where} is nested more than {_MAX_DEPTH} levels deep")
        _demand(id(tree) not in self._met or tree == (), f"{where} holds one {kind.__name__} twice")
        self._met.add(id(tree))
        if kind is list or kind is tuple:
            for item in tree:
                self.check(item, where, depth + 1)
        elif kind not in MAPPINGS:
            raise _Misfit(f"{where} holds a {kind.__name__}")
        elif MARK in tree:
            self._check_marked(tree, where, depth)
        else:
            for key, item in tree.items():
                _demand(is_key(key), f"{where} has the key {key!r}")
                self.check(item, where, depth + 1)
            if hasattr(tree, "_metadata"):
                self.check(tree._metadata, where, depth + 1)

    def _check_marked(self, tree: dict[str, Any], where: str, depth: int) -> None:
        mark = tree[MARK]
        _demand(type(tree) is dict and isinstance(mark, str), f"{where} holds a mark of no kind")
        if mark in SETS:
            items = tree.get("items")
            if not isinstance(items, list):
                raise _Misfit(f"{where} holds a set without items")
            for item in items:
                self.check(item, where, depth + 1)
                _demand(_is_hashable(item), f"{where} holds a set of what cannot be in one")
        elif mark in ("array", "scalar"):
            _check_array(tree, where)
        else:
            _demand(mark == "empty bytes", f"{where} holds a mark {mark!r}")


def _is_hashable(tree: Any) -> bool:
    if type(tree) is tuple:
        return all(map(_is_hashable, tree))
    if type(tree) is dict:
        return tree.get(MARK) in _HASHABLE_MARKS
    return type(tree) in LEAVES or type(tree) in TENSORS or type(tree) is bytes


def _check_array(tree: dict[str, Any], where: str) -> None:
    """Its bytes are numbers or characters, and as many as its shape takes: nothing else is read as memory."""
    dtype = _parse_dtype(tree.get("dtype"))
    if dtype is None or dtype.kind not in ARRAY_KINDS:
        raise _Misfit(f"{where} holds an array of dtype {tree.get('dtype')!r}")
    shape, content = tree.get("shape"), tree.get("bytes")
    if not isinstance(shape, list) or any(type(n) is not int or n < 0 for n in shape):
        raise _Misfit(f"{where} holds an array of shape {shape!r}")
    _demand(content is None or type(content) is bytes, f"{where} holds an array without bytes")
    have, elements = len(content or b""), math.prod(shape)
    _demand(
        have == elements * dtype.itemsize and (dtype.itemsize > 0 or not elements),
        f"{where} holds an array of {have} bytes for {elements} elements of {dtype}",
    )
    _demand(tree.get("order") in ("C", "F"), f"{where} holds an array in the order {tree.get('order')!r}")
    _demand(tree[MARK] == "array" or not shape, f"{where} holds a scalar with a shape")


def _parse_dtype(text: Any) -> Any:
    try:
        return numpy.dtype(text) if isinstance(text, str) else None
    except (TypeError, ValueError, SyntaxError):
        return None


def _is_device(place: str) -> bool:
    kind, _, index = place.partition(":")
    return kind.isidentifier() and (not index or (index.isdecimal() and len(index) < 5))


def _demand(fits: bool, otherwise: str) -> None:
    if not fits:
        raise _Misfit(otherwise)
