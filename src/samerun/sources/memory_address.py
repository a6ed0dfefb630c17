"""Addresses of objects: https://docs.python.org/3/library/functions.html#id."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence
from samerun.sources import _rows
from samerun.sources._hashing import hashing
from samerun.sources.source import Source

if TYPE_CHECKING:
    from samerun.editing.code import Code

_WORDS = re.compile(r"\b(id|hash|set|frozenset)\s*\(|key=(id|hash)\b|data_ptr\(\)")


class MemoryAddress(Source):
    """`id(x)`, `data_ptr()`, and the hash of objects without `__hash__` of their own, in sorting or sets."""

    id = "memory-address"
    summary = "an order or a value that comes from where objects lie in memory"
    advice = "sort by a name instead of id(), and give objects in sets their own __hash__ and __eq__"
    kind = "memory"
    controllable = False

    def recognise(self, difference: Difference) -> Evidence | None:
        """The code makes an order out of addresses, and no generator, file or folder differed first."""
        origin = difference.origin
        if (origin is not None and origin.inputs_equal) or _rows.explained(difference):
            return None
        if difference.kind not in ("order", "flow") and difference.phase not in ("setup", "data"):
            return None
        seen = hashing(difference.a)
        if seen is not None and seen.objects:
            site = seen.objects[0]
            strength = 0.4 if seen.values and not _same_hash_seed(difference) else 0.7
            text = f"the order at {site} comes from where objects lie in memory"
            return Evidence(self.id, strength, text, site)
        line = _rows.source_line(difference.a, difference.call_site)
        if _same_hash_seed(difference) and _WORDS.search(line):
            return Evidence(self.id, 0.2, f"the line may depend on addresses: {line}", difference.call_site)
        return None

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Sets of objects become lists or dicts, sorting by address is left out, seeds become 0."""
        from samerun.sources._mending import addresses, seeds, volatile

        edits = addresses.in_order_of_making(code)
        for file in code.files:
            for node in file.every(ast.Call):
                if volatile.address(file, node):
                    edits += seeds.in_seed(file, node, volatile.address)
        if not edits:
            raise NoEdit(
                f"what depends on addresses, at {site}, is not an order that could be replaced: {self.advice}"
            )
        return edits


def _same_hash_seed(difference: Difference) -> bool:
    sides = (difference.a, difference.b)
    seeds = [side.settings.get("hash-seed", {}).get("PYTHONHASHSEED") for side in sides]
    return seeds[0] is not None and seeds[0] == seeds[1]
