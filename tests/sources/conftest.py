"""A journal that keeps its notes in a list, and the rows of hand-made differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from samerun import callsite


class Notes:
    """A Journal whose notes can be looked at."""

    def __init__(self) -> None:
        self._rows: list[tuple[SimpleNamespace, Callable[[], bool]]] = []
        self._unless: Callable[[], bool] = lambda: False

    @property
    def rows(self) -> list[SimpleNamespace]:
        return [row for row, unless in self._rows if not unless()]

    def note(
        self,
        what: str,
        name: str,
        *,
        user_only: bool = False,
        **columns: Any,
    ) -> None:
        frame = callsite.find_user_frame(2)
        if frame is None and user_only:
            return
        site = None if frame is None else callsite.call_site(frame)
        self._rows.append((SimpleNamespace(what=what, name=name, call_site=site, **columns), self._unless))

    @contextmanager
    def held_back(self, unless: Callable[[], bool]) -> Iterator[None]:
        self._unless = unless
        yield
        self._unless = lambda: False

    def seeds(self, generator: str, moment: str) -> None:
        """States are written by the recorder."""

    @contextmanager
    def unheard(self) -> Iterator[None]:
        kept = list(self._rows)
        yield
        self._rows = kept

    def from_user(self) -> bool:
        return callsite.find_user_frame(2) is not None

    def of(self, what: str, name: str | None = None) -> list[SimpleNamespace]:
        return [row for row in self.rows if row.what == what and (name is None or row.name == name)]


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def observed(notes):
    """Observe a source until the test ends: observed(source) gives the notes."""
    undos = []

    def observe(source):
        undos.append(source.observe(notes))
        return notes

    yield observe
    for undo in reversed(undos):
        undo()
