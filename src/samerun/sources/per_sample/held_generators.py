"""Generators that the user's modules hold: found by their names, distinguished by their states, seeded anew.

A module's variable (`rng = np.random.default_rng()`, often set by a pool's initializer), or an attribute of
an object of the user's own classes that a module holds.
"""

from __future__ import annotations

import _random
import functools
import pickle
import random
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from samerun import callsite, lineage
from samerun.digest import digest_bytes
from samerun.sources.patching.unseeded_generators import was_given
from samerun.sources.per_sample import own_generators

_NUMPYS = "numpy.random"
_unseeded: dict[str, bool] = {}  # by the name
lineage.call_in_each_child(_unseeded.clear)
_MAIN, _MAIN_IN_CHILD = "__main__", "__mp_main__"  # one script, in the first process and where it is spawned


def find() -> Iterator[tuple[str, Any]]:
    """The name of each, the same in every process, and the generator.

    Of the libraries' own classes: another one may want more to be made, or have no state.
    """
    kinds = _list_kinds()
    modules = {name: module for name, module in list(sys.modules.items()) if _is_the_users(module)}
    seen = _list_globals()
    for module_name, module in modules.items():
        place = _MAIN if module_name == _MAIN_IN_CHILD else module_name
        for key, value in list(_get_variables(module).items()):
            held = {key: value}
            if type(value).__module__ in modules:  # an object of one of the user's own classes
                attributes = getattr(value, "__dict__", None) or {}
                held |= {f"{key}.{name}": attributes[name] for name in list(attributes)}
            for path, each in held.items():
                if type(each) in kinds and id(each) not in seen and _is_made_of_known(each):
                    seen.add(id(each))  # it may be imported in several
                    yield f"{place}.{path}", each


def digest(generator: Any) -> str:
    """Of its state."""
    state = own_generators.read(generator)
    plain = state.numpy().tobytes() if hasattr(state, "numpy") else pickle.dumps(state)
    return digest_bytes(plain, type(generator).__name__).hex()


def was_made_unseeded(name: str, generator: Any) -> bool:
    """Whether this process made the generator of that name without a seed, as it was when first asked for."""
    if name not in _unseeded:
        _unseeded[name] = any(map(was_given, _list_seeds(generator)))
    return _unseeded[name]


def _list_seeds(generator: Any) -> Iterator[object]:
    if isinstance(generator, random.Random):
        yield hash(_random.Random.getstate(generator))
    elif (inner := _get_bits(generator)) is None:
        yield generator.initial_seed()
    else:
        yield getattr(getattr(inner, "seed_seq", None), "entropy", None)


def seed(generator: Any, bits: int) -> None:
    """Seed one with 63 bits."""
    if isinstance(generator, random.Random):
        generator.seed(bits)
    elif (inner := _get_bits(generator)) is None:
        generator.manual_seed(bits)
    else:
        own_generators.write(generator, own_generators.read(type(generator)(type(inner)(bits))))


def _get_bits(generator: Any) -> Any:
    """NumPy's bit generator that one draws from; None for one of another library."""
    return getattr(generator, "bit_generator", None) or getattr(generator, "_bit_generator", None)


def _is_made_of_known(generator: Any) -> bool:
    """Whether it is a CPU's, and draws from a bit generator of NumPy's own if from any."""
    device, bits = getattr(generator, "device", None), _get_bits(generator)
    return (device is None or device.type == "cpu") and (
        bits is None or type(bits).__module__.startswith(_NUMPYS)
    )


def _get_variables(module: ModuleType) -> dict[str, Any]:
    """A spawned child has a script's functions read other variables than those of its module: runpy's."""
    if module.__name__ == _MAIN_IN_CHILD:
        for value in vars(module).values():
            if isinstance(value, FunctionType) and value.__module__ == _MAIN_IN_CHILD:
                return value.__globals__
    return vars(module)


def _list_kinds() -> frozenset[type]:
    """The classes of generators, of the libraries that are imported; under a control others stand in."""
    kinds: list[type] = [random.Random]
    if (numpys := sys.modules.get("numpy.random.mtrand")) is not None:
        kinds += [numpys.RandomState, sys.modules["numpy.random._generator"].Generator]
    if (torch := sys.modules.get("torch")) is not None:
        kinds.append(type(torch.default_generator))
    return frozenset(kinds)


def _list_globals() -> set[int]:
    """The identities of those that sources of their own control, which a script may name as well."""
    numpys, torch = sys.modules.get("numpy.random.mtrand"), sys.modules.get("torch")
    return {
        id(random._inst),
        *([] if numpys is None else [id(numpys._rand)]),
        *([] if torch is None else [id(torch.default_generator)]),
    }


def _is_the_users(module: Any) -> bool:
    name = getattr(module, "__dict__", {}).get("__file__")  # never wakes a lazy module
    return isinstance(name, str) and _is_user_file(name)


@functools.lru_cache(maxsize=4096)
def _is_user_file(name: str) -> bool:
    return callsite.is_user_file(callsite.make_absolute(name))
