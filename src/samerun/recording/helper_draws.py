"""Which global generators a program drew from that never trains, where nothing follows each draw."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from samerun.sources.base.rng import Rng


class Drawn(NamedTuple):
    """A generator whose state is another than at the start of the process, by digests of both."""

    source: str
    before: bytes
    after: bytes


class FirstStates:
    """The states that generators had as the process began, or as they came to be there."""

    def __init__(self) -> None:
        self._sources: list[Rng] = []
        self._first: dict[str, bytes] = {}
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._begin)

    def follow(self, source: Rng) -> None:
        """Know the state of one that has just come to be there, if it is one that a child may draw from."""
        if source.in_forks and source.in_play() and source not in self._sources:
            self._sources.append(source)
            self._keep(source)

    def find_drawn(self) -> Iterator[Drawn]:
        """Those that have moved since."""
        for source in self._sources:
            first, now = self._first.get(source.id), source.digest()
            if first is not None and now is not None and now != first:
                yield Drawn(source.id, first, now)

    def _begin(self) -> None:
        for source in self._sources:
            self._keep(source)

    def _keep(self, source: Rng) -> None:
        state = source.digest()
        if state is not None:
            self._first[source.id] = state
