"""Addresses of objects: https://docs.python.org/3/library/functions.html#id."""

from __future__ import annotations

import re

from samerun.runs.difference import Difference, Evidence
from samerun.sources import _rows
from samerun.sources.source import Source

_WORDS = re.compile(r"\b(id|hash|set|frozenset)\s*\(|key=(id|hash)\b|data_ptr\(\)")


class MemoryAddress(Source):
    """`id(x)`, `data_ptr()`, and the hash of objects without `__hash__` of their own, in sorting or sets."""

    id = "memory-address"
    summary = "an order or a value that comes from where objects lie in memory"
    advice = "sort by a name instead of id(), and give objects in sets their own __hash__ and __eq__"
    kind = "memory"
    controllable = False

    def recognise(self, difference: Difference) -> Evidence | None:
        """Hash seeds equal, and the differing line looks at an address: nothing else says more."""
        seeds = [
            side.settings.get("hash-seed", {}).get("PYTHONHASHSEED") for side in (difference.a, difference.b)
        ]
        if seeds[0] is None or seeds[0] != seeds[1]:
            return None
        if difference.kind not in ("order", "flow") and difference.phase != "data":
            return None
        text = _rows.source_line(difference.a, difference.call_site)
        if not _WORDS.search(text):
            return None
        return Evidence(self.id, 0.2, f"the line may depend on addresses: {text}", difference.call_site)
