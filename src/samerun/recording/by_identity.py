"""What is known of an object, by the object itself: whatever it says of being equal, hashed or not at all."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_V = TypeVar("_V")


class ByIdentity(Generic[_T, _V]):
    """A dictionary whose keys are objects, which it does not keep alive and of which it calls no method.

    Each method may be called in any thread: what goes over all of them goes over a copy.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[_T], _V]] = {}

    def __contains__(self, key: _T) -> bool:
        return id(key) in self._known

    def __getitem__(self, key: _T) -> _V:
        return self._known[id(key)][1]

    def __setitem__(self, key: _T, value: _V) -> None:
        id_, known = id(key), self._known

        def gone(reference: Any) -> None:
            if (kept := known.get(id_)) is not None and kept[0] is reference:
                del known[id_]

        known[id_] = weakref.ref(key, gone), value

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: _T) -> _V | None:
        """What is known of it, None for nothing."""
        known = self._known.get(id(key))
        return None if known is None else known[1]

    def items(self) -> Iterator[tuple[_T, _V]]:
        """Those that are still there, in the order in which they came."""
        for reference, value in list(self._known.values()):
            if (key := reference()) is not None:
                yield key, value

    def __iter__(self) -> Iterator[_T]:
        return (key for key, _ in self.items())

    def values(self) -> list[_V]:
        """What is known, in the order in which it came."""
        return [value for _, value in list(self._known.values())]
