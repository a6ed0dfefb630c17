"""Generators of polars and DuckDB, which the system's entropy seeds unless the script does.

https://docs.pola.rs/api/python/stable/reference/api/polars.set_random_seed.html,
https://duckdb.org/docs/stable/sql/functions/numeric (setseed). Their states cannot be read.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samerun import lineage, wrapping
from samerun.editing.edit import Edit, NoEdit, Opening
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.evidence import rows
from samerun.sources.patching import attribute
from samerun.sources.source import Journal, Kind, Source, Undo
from samerun.streams import stream_seed
from samerun.wrapping import Parameter

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

_POLARS, _DUCKDB = "polars", "duckdb"
_DRAWING = {"DataFrame": ("sample",), "Series": ("sample", "shuffle"), "Expr": ("sample", "shuffle")}
_USING = ("DataFrame", "Series")  # an expression draws later, or never
_ASKING = ("execute", "sql", "query")  # of a connection, and of the module
_SEEDS = re.compile(r"\bsetseed\s*\(", re.IGNORECASE)
_CONCERNED = re.compile(r"\b(setseed|random)\s*\(|\busing\s+sample\b|\btablesample\b", re.IGNORECASE)
_SEED, _SEED_BY_NAME, _QUERY = Parameter("seed", 1), Parameter("seed", 99), Parameter("query", 0)
_BITS = 53  # setseed takes a double


class LibraryGenerators(Source):
    """`sample` and `shuffle` of polars without a seed; `random()` and samples of DuckDB.

    Controlled by seeding polars' global generator when it is imported, and each connection of DuckDB's
    before its first statement that draws, unless the script has seeded it. DuckDB goes through large tables
    in several threads, which draw as they come.
    """

    id = "library-generators"
    gives = re.compile(r"polars\..*\.(sample|shuffle)|_?duckdb\..*\.?(execute|sql|query)")
    summary = "polars or DuckDB drew from a generator of its own, which no one seeded"
    advice = 'polars.set_random_seed(0), or for DuckDB connection.execute("select setseed(0.5)")'
    cannot_mend = 'run connection.execute("select setseed(0.5)") before the statement that draws'
    kind = Kind.WORLD
    modes = ("seeded", "strict", "warn")
    also_hooks_into = (_POLARS, _DUCKDB)

    def __init__(self) -> None:
        self._controlled: set[str] = set()  # what is there, under the control in force
        self._observed: set[str] = set()

    def control(self, control: Control) -> Undo | None:
        """Seed those that are there; called again when one is imported."""
        ways = {_POLARS: self._seed_polars, _DUCKDB: self._seed_duckdb}
        return self._begin(self._controlled, lambda name: ways[name](control.seed))

    def observe(self, journal: Journal) -> Undo | None:
        """Note each call that draws without a seed."""

        def note() -> None:
            journal.note("unseeded", self.id, user_only=True)

        ways = {_POLARS: _watch_polars, _DUCKDB: _watch_duckdb}
        return self._begin(self._observed, lambda name: ways[name](note))

    def _begin(self, begun: set[str], begin: Callable[[str], Undo]) -> Undo | None:
        undos: list[Undo] = []
        for name in (_POLARS, _DUCKDB):
            if name in sys.modules and name not in begun:
                begun.add(name)
                undos += [begin(name), lambda name=name: begun.discard(name)]  # type: ignore[misc]
        return wrapping.undo_all(undos) if undos else None

    def _seed_polars(self, seed: int) -> Undo:
        polars, used = sys.modules[_POLARS], False

        def begin() -> None:
            if not used:
                polars.set_random_seed(stream_seed(seed, self.id, _POLARS, *lineage.get_path()))

        def use(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            nonlocal used
            used = True
            return original(*args, **kwargs)

        begin()
        # A fork goes on with what its parent seeded, or drew from; else it begins by itself.
        waits = [lineage.call_in_each_child(begin)]
        waits.append(attribute.patch_for_others(polars, "set_random_seed", use))
        for owner in _USING:
            waits += [
                attribute.patch_for_others(getattr(polars, owner), name, use) for name in _DRAWING[owner]
            ]
        leave = wrapping.undo_all(waits)

        def undo() -> None:
            leave()
            # Its state of before cannot be read: it is another one again, and not that of the control.
            polars.set_random_seed(int.from_bytes(os.urandom(8), "little"))

        return undo

    def _seed_duckdb(self, seed: int) -> Undo:
        numbers = itertools.count()
        seeded: weakref.WeakSet[Any] = weakref.WeakSet()

        def before(connection: Any, text: str) -> None:
            if connection in seeded:
                return
            if not _SEEDS.search(text):
                drawn = stream_seed(seed, self.id, _DUCKDB, next(numbers), *lineage.get_path())
                drawn >>= 64 - _BITS
                try:
                    connection.execute(f"select setseed({drawn / 2**_BITS!r})").fetchall()
                except Exception:  # it is closed, or in the midst of something: the user's call will say so
                    return
            seeded.add(connection)

        return _call_before_draws(before)

    def recognise(self, difference: Difference) -> Evidence | None:
        """It was drawn from, and no operation made what differs."""
        origin = difference.origin
        drawn = difference.a.rows("unseeded", self.id)
        if not drawn or (origin is not None and (origin.makes_it or origin.own_generator)):
            return None
        row = next((each for each in drawn if each.call_site == difference.call_site), drawn[-1])
        explained = rows.is_explained(difference) or rows.has_rng_difference(difference)
        text = f"{row.call_site or 'an unknown line'} draws from a generator that nobody seeded"
        return Evidence(self.id, Strength.FAIR if explained else Strength.STRONG, text, row.call_site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """A seed for polars, after the imports. Raises NoEdit where it is DuckDB's."""
        if not any("polars" in file.text for file in code.files):
            raise NoEdit(self.cannot_mend)
        return [Opening("polars.set_random_seed", "(0)")]


def _watch_polars(note: Callable[[], None]) -> Undo:
    polars = sys.modules[_POLARS]
    seeded = False

    def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal seeded
        seeded = True
        return original(*args, **kwargs)

    def draw(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = _SEED if original.__name__ == "shuffle" else _SEED_BY_NAME
        if not seeded and given.of(args, kwargs, None) is None:
            note()
        return original(*args, **kwargs)

    draws = [(getattr(polars, owner), name) for owner, names in _DRAWING.items() for name in names]
    undos = [attribute.patch_for_others(owner, name, draw) for owner, name in draws]
    return wrapping.undo_all([*undos, attribute.patch_for_others(polars, "set_random_seed", seed)])


def _watch_duckdb(note: Callable[[], None]) -> Undo:
    seeded: weakref.WeakSet[Any] = weakref.WeakSet()

    def before(connection: Any, text: str) -> None:
        if _SEEDS.search(text):
            seeded.add(connection)
        elif connection not in seeded:
            note()

    return _call_before_draws(before)


def _call_before_draws(before: Callable[[Any, str], None]) -> Undo:
    """Have it called ahead of each statement that draws or seeds, with its connection and its text."""
    duckdb: Any = sys.modules[_DUCKDB]

    def of_connection(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        text = _QUERY.of(args[1:], kwargs, None)
        if args and isinstance(text, str) and _CONCERNED.search(text):
            before(args[0], text)
        return original(*args, **kwargs)

    def of_module(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        text = _QUERY.of(args, kwargs, None)
        if isinstance(text, str) and _CONCERNED.search(text):
            before(kwargs.get("connection") or duckdb.default_connection(), text)
        return original(*args, **kwargs)

    hooks = [(duckdb.DuckDBPyConnection, of_connection), (duckdb, of_module)]
    return wrapping.undo_all(
        [attribute.patch_for_others(owner, name, hook) for owner, hook in hooks for name in _ASKING]
    )
