"""The states of the generators of a process: the global ones, and those of NumPy that somebody holds."""

from __future__ import annotations

import gc
import hashlib
import sys
from typing import Any

from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.sources.numpy_generator import NumpyGenerator


class GeneratorStates:
    """What the generators were left in, compared with how they were when this was made."""

    def __init__(self) -> None:
        self._before = _digest_global()
        self._made = [(generator, _digest_made(generator)) for generator in _find_made()]

    def find_drawn(self) -> dict[str, str]:
        """The ids of the sources whose generators have another state now, and a digest of it."""
        found = {id_: now for id_, now in _digest_global().items() if self._before.get(id_, now) != now}
        moved = [now for made, before in self._made if (now := _digest_made(made)) != before]
        if moved:
            found[NumpyGenerator.id] = hashlib.sha256(repr(sorted(moved)).encode()).hexdigest()
        return found


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
