"""Where the user's code makes an order out of hashes: found by reading it, after the run."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from samerun.editing.edit import NoEdit
from samerun.editing.source_file import get_last_name
from samerun.runs.difference import Side
from samerun.runs.source_lines import parse_site
from samerun.sources.evidence import rows
from samerun.sources.evidence.addresses import is_hashed_by_address, takes_address

if TYPE_CHECKING:
    from samerun.editing.source_file import File
    from samerun.editing.user_program import Code

_CUTS = (ast.Mod, ast.FloorDiv, ast.RShift, ast.BitAnd)  # what makes a small number of an address

Kind = Literal["text", "object", "unknown"]  # what is in a set
_MOST_SETS = 8
_NOT_THOUGHT_OF = LookupError, ValueError, AttributeError, TypeError, RecursionError  # a form of code


@dataclass(frozen=True)
class Order:
    """A line that goes through a set, in the order of its hashes, or takes a hash."""

    site: str
    kind: Kind
    path: str
    first: int  # the lines of the loop, or of the statement
    last: int
    of_ties: bool = False  # sorted by a key: the order of the set decides between equal keys alone

    def holds(self, site: str | None) -> bool:
        """Whether a call site is in the loop."""
        at = parse_site(site)
        return at is not None and at[0] == self.path and self.first <= at[1] <= self.last


@dataclass(frozen=True)
class Hashing:
    """The lines (`path.py:line`) of the user's files that hash.

    `values`: sets and hashes of what may be strings, which follow PYTHONHASHSEED. `objects`: sets of
    instances of a class of the user's own that is hashed by its address, sets of weak references, and sorting
    by `id`. `numbers`: arithmetic with `id()` and `data_ptr()`; to compare them, or to look something up by
    them, is harmless. `orders` are the lines that go through a set, those that sort it by a key last.
    """

    values: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()

    def order(self, kinds: Collection[str], *sites: str | None) -> Order | None:
        """The first line that goes through a set of these kinds in a loop that holds one of the sites.

        One that sorts by a key only where no other line goes through such a set.
        """
        of_kind = [item for item in self.orders if item.kind in kinds]
        likely = [item for item in of_kind if not item.of_ties] or of_kind
        return next((item for item in likely if any(map(item.holds, sites))), None)

    def first(self, kinds: Collection[str], otherwise: Sequence[str]) -> str | None:
        """The first line that goes through a set of these kinds, else the first of the others."""
        return next((item.site for item in self.orders if item.kind in kinds), next(iter(otherwise), None))


def read_hashing(side: Side, files: Collection[str] | None = None) -> Hashing | None:
    """What the files that ran (or these) contain; None when none of them can be read."""
    folder, paths = side.manifest.get("cwd"), side.settings.get("code", {}) if files is None else files
    if not isinstance(folder, str):
        return None
    found = [seen for path in paths if (seen := _read(folder, path)) is not None]
    if not found:
        return None
    sites = [tuple(site for seen in found for site in seen[which]) for which in range(3)]
    code = rows.read_code(side, files)
    return Hashing(sites[0], sites[1], sites[2], () if code is None else find_orders(code))


def _make_order(file: File, node: ast.expr, kind: Kind) -> Order:
    first, last = file.reach(node)
    path, at = parse_site(file.site(first)) or (file.path, first)
    outer = file.parent(node)
    ties = isinstance(outer, ast.Call) and _name(outer.func) in ("sorted", "min", "max")
    return Order(file.site(node.lineno), kind, path, at, at + last - first, ties)


def find_set_of_texts(code: Code) -> str | None:
    """The first line that goes through a set which may hold texts; None too where it is not found soon."""
    from samerun.sources.edits import sets

    try:
        for file, node in itertools.islice(sets.find_ordered_sets(code), _MOST_SETS):
            order = _make_order(file, node, sets.classify_elements(code, (file, node)))
            if order.kind != "object" and not order.of_ties:
                return order.site
    except _NOT_THOUGHT_OF:
        pass
    return None


def find_orders(code: Code) -> tuple[Order, ...]:
    """Where the code makes an order out of hashes."""
    from samerun.sources.edits import sets

    make = _make_order
    try:
        gone_through = (*sets.find_ordered_sets(code), *sets.find_popped(code), *sets.hashes(code))
        found = [make(file, node, sets.classify_elements(code, (file, node))) for file, node in gone_through]
        by_address = (*sets.find_ordered_weak_sets(code), *sets.find_ordered_waits(code))
        found += [make(*place, "object") for place in by_address]
        return tuple(sorted(found, key=lambda item: item.of_ties))
    except _NOT_THOUGHT_OF:
        return ()  # what `_read` found must do


@functools.lru_cache(maxsize=256)
def _read(folder: str, path: str) -> tuple[list[str], list[str], list[str]] | None:
    """The lines of one file for each field of Hashing, as call sites."""
    from samerun.editing.user_program import read_file

    try:
        file = read_file(Path(folder), path)
        tree = file.tree
    except NoEdit:
        return None
    plain = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and is_hashed_by_address(node)
    }
    values: list[int] = []
    objects: list[int] = []
    numbers: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Set, ast.SetComp)):
            elements = node.elts if isinstance(node, ast.Set) else [node.elt]
            made = all(isinstance(item, ast.Call) and _name(item.func) in plain for item in elements)
            (objects if made else values).append(node.lineno)
        elif isinstance(node, ast.Call) and _name(node.func) in ("set", "frozenset", "hash"):
            values.append(node.lineno)
        elif isinstance(node, ast.Call) and get_last_name(node) == "WeakSet":
            objects.append(node.lineno)
        elif (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, _CUTS)
            and any(map(_is_address, ast.walk(node)))
        ):
            numbers.append(node.lineno)
        elif isinstance(node, ast.keyword) and node.arg == "key" and _name(node.value) in ("id", "hash"):
            objects.append(node.value.lineno)
    first, second, third = ([file.site(line) for line in lines] for lines in (values, objects, numbers))
    return first, second, third


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_address(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and takes_address(node, _name(node.func))
