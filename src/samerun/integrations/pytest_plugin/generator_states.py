"""The states of the generators of a process: the global ones, and those of NumPy that somebody holds."""

from __future__ import annotations

import gc
import hashlib
import importlib
import sys
from typing import Any

from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.sources.numpy_generator import NumpyGenerator
from samerun.sources.numpy_global import NumpyGlobal

_UNDRAWN = (623, 624)  # where NumPy's Mersenne Twister stands as it is made from entropy, and as it is seeded


class GeneratorStates:
    """What the generators were left in, compared with how they were when this was made."""

    def __init__(self) -> None:
        _load_numpy_random()
        self._before = _digest_global()
        self._made = [(generator, _digest_made(generator)) for generator in _find_made()]

    def find_drawn(self) -> dict[str, str]:
        """The ids of the sources whose generators have another state now, and a digest of it."""
        found = {id_: now for id_, now in _digest_global().items() if self._has_moved(id_, now)}
        moved = [now for made, before in self._made if (now := _digest_made(made)) != before]
        if moved:
            found[NumpyGenerator.id] = hashlib.sha256(repr(sorted(moved)).encode()).hexdigest()
        return found

    def _has_moved(self, id_: str, now: str) -> bool:
        before = self._before.get(id_)
        if before is None:  # it was made since
            return id_ == NumpyGlobal.id and _has_numpy_drawn()
        return before != now


def _load_numpy_random() -> None:
    """NumPy, in 2.4 say, makes the global generator when somebody asks for it: a test may be the first."""
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random")


def _has_numpy_drawn() -> bool:
    """Whether the global generator, which was made since, is no longer as it is made or seeded."""
    state = sys.modules["numpy.random"].get_state(legacy=False)
    return bool(state["state"]["pos"] not in _UNDRAWN or state["has_gauss"])


def _digest_global() -> dict[str, str]:
    generators = {id_: source for id_, source in find_sources().items() if isinstance(source, Rng)}
    return {
        id_: state.hex()
        for id_, source in generators.items()
        if source.in_play() and (state := source.digest()) is not None
    }


def _find_made() -> list[Any]:
    """NumPy's own generators, without the global one."""
    numpy_random: Any = sys.modules.get("numpy.random")
    if numpy_random is None:
        return []
    kinds = (numpy_random.Generator, numpy_random.RandomState)
    # By type, not isinstance, which asks proxies of others for their class.
    return [
        item for item in gc.get_objects() if type(item) in kinds and item is not numpy_random.mtrand._rand
    ]


def _digest_made(generator: Any) -> str:
    state = getattr(generator, "_bit_generator", None)
    return hashlib.sha256(repr(state and state.state).encode()).hexdigest()
