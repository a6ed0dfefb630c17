"""The generators that a dataset holds for itself: forked or pickled to its workers, each has the same."""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import torch

from samerun import digest
from samerun.sources.numpy_generator import NumpyGenerator
from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.python_random import PythonRandom
from samerun.sources.torch_cpu import TorchCpu

_MOST = 256  # objects that are looked at
_DEEP = 4
_WIDE = 16  # items of one list or dict
_TWISTER = 624  # words of a Mersenne twister's state
_MOST_TWISTS = 64  # each after that many draws
_LEAVES = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, torch.nn.Module, type)


class State(NamedTuple):
    """A generator's state, as far as it tells draws from a seeding."""

    digest: bytes
    fixed: Any = None  # what no draw changes in it
    words: tuple[int, ...] = ()  # the whole of it, where it is a Mersenne twister's

    def leads_to(self, after: State) -> bool:
        """Whether nothing but draws lies between the two, and not many; False where that cannot be seen."""
        if self.fixed is not None:
            return bool(self.fixed == after.fixed)
        if not self.words or not after.words:
            return False
        count = (after.words[-1] - self.words[-1]) % _TWISTER
        twister = random.Random(0)
        twister.setstate((3, self.words, None))
        for _ in range(_MOST_TWISTS):
            if count:
                twister.getrandbits(32 * count)
            if twister.getstate()[1] == after.words:
                return True
            count = _TWISTER
        return False


class DatasetGenerator(NamedTuple):
    """One generator of a dataset's."""

    name: str  # a source id, then where it is: "numpy-generator:Noisy.rng"
    where: str  # "Noisy.rng"
    generator: Any

    def state(self) -> State:
        """Its state now."""
        it = self.generator
        if isinstance(it, torch.Generator):
            return State(digest.digest_tensor(it.get_state()), it.initial_seed())
        if isinstance(it, random.Random):
            _, words, _ = state = it.getstate()
            return State(digest.digest_value(state), words=words)
        state = it.bit_generator.state if hasattr(it, "bit_generator") else it.get_state(legacy=False)
        inner = state.get("state") if isinstance(state, dict) else None
        whole = digest.digest_value(state)
        if not isinstance(inner, dict):
            return State(whole)
        if "inc" in inner:  # PCG's increment
            return State(whole, inner["inc"])
        if "counter" in inner:  # Philox's key
            return State(whole, tuple(inner["key"].tolist()))
        return State(whole, words=(*inner["key"].tolist(), inner["pos"])) if "pos" in inner else State(whole)


def find(dataset: Any) -> list[DatasetGenerator]:
    """Those in its attributes and in the globals that its class names, however deep, and its module's own."""
    found: dict[int, DatasetGenerator] = {}
    seen = {id(dataset)}
    waiting = deque([(type(dataset).__name__, dataset, 0)])
    _search(waiting, seen, found)
    named = [(key, item, 1) for key, item in _list_used_globals(type(dataset)) if id(item) not in seen]
    _search(deque(named), seen, found)
    module = sys.modules.get(type(dataset).__module__)
    for key, item in list(getattr(module, "__dict__", {}).items()):
        kind = _classify(item)
        if kind is not None:
            found.setdefault(id(item), DatasetGenerator(f"{kind}:{key}", key, item))
    return list(found.values())


def _search(waiting: deque[tuple[str, Any, int]], seen: set[int], found: dict[int, DatasetGenerator]) -> None:
    """Go through what these objects hold, each given with its name and how deep it lies."""
    while waiting and len(seen) < _MOST:
        path, value, depth = waiting.popleft()
        for key, item in _walk_items(path, value):
            if issubclass(type(item), _LEAVES) or id(item) in seen:
                continue
            seen.add(id(item))
            kind = _classify(item)
            if kind is not None:
                found[id(item)] = DatasetGenerator(f"{kind}:{key}", key, item)
            elif depth < _DEEP:
                waiting.append((key, item, depth + 1))


def _list_used_globals(kind: type) -> Iterator[tuple[str, Any]]:
    """The objects that the methods of a class name and its module holds, such as a chain of transforms."""
    for value in [value for base in kind.__mro__ for value in vars(base).values()]:
        function = value.__func__ if type(value) in (classmethod, staticmethod) else value
        if type(function) is FunctionType:
            variables = function.__globals__
            for name in function.__code__.co_names:
                item = variables.get(name)
                if not issubclass(type(item), (*_LEAVES, ModuleType, FunctionType)) and not _classify(item):
                    yield name, item


def _walk_items(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What it holds, by where that is; nothing of the script's is run to find out."""
    if isinstance(value, Mapping):
        if type(value) is dict:
            for key, item in list(value.items())[:_WIDE]:
                yield f"{path}[{key!r}]" if isinstance(key, (str, int)) else path, item
        return
    if type(value) in (list, tuple):
        for number, item in enumerate(value[:_WIDE]):
            yield f"{path}[{number}]", item
        return
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return
    if type(held) is dict:
        for key, item in list(held.items()):
            yield f"{path}.{key}", item


def _classify(value: Any) -> str | None:
    """The source id of a generator, None of what is none."""
    kind = type(value)  # isinstance would ask a lazy object for what it stands for
    if issubclass(kind, torch.Generator):
        return TorchCpu.id if value.device.type == "cpu" else None
    if issubclass(kind, random.Random):
        shared = value is random._inst
        return None if shared or issubclass(kind, random.SystemRandom) else PythonRandom.id
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        if issubclass(kind, numpy.Generator):
            return NumpyGenerator.id
        if issubclass(kind, numpy.RandomState):
            return None if value is numpy.mtrand._rand else NumpyGlobal.id
    return None
