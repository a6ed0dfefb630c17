"""Addresses of objects: https://docs.python.org/3/library/functions.html#id."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.sources.evidence import rows
from samerun.sources.evidence.hash_order import Hashing, read_hashing
from samerun.sources.hash_seed import is_same_in
from samerun.sources.patching import address_texts
from samerun.sources.source import Journal, Kind, Source, Undo

if TYPE_CHECKING:
    from samerun.editing.source_file import File
    from samerun.editing.user_program import Code

_WORDS = re.compile(r"\b(id|hash|set|frozenset)\s*\(|key=(id|hash)\b|data_ptr\(\)")

_UNSURE = (
    Strength.SLIGHT
)  # what is in a set is not known: strings are likelier, and hash-seed is then asked first


class MemoryAddress(Source):
    """`id(x)`, `data_ptr()`, objects hashed by where they lie, and texts that hold an address."""

    id = "memory-address"
    gives = re.compile(r"builtins\.(id|hash)|.*\.(data_ptr|__hash__)")
    summary = "an order or a value that comes from where objects lie in memory"
    advice = "sort by a name instead of id(), and give objects in sets their own __hash__ and __eq__"
    kind = Kind.MEMORY
    controllable = False
    also_hooks_into = address_texts.MODULES

    def __init__(self) -> None:
        self._observed: set[str] = set()  # the modules that are seen to already

    def observe(self, journal: Journal) -> Undo | None:
        """Note where a number is made of a text that holds an address."""
        return address_texts.note_hashed(journal, self._observed)

    def recognise(self, difference: Difference) -> Evidence | None:
        """The code makes an order out of addresses, and no generator, file or folder differed first."""
        origin = difference.origin
        seeded = self._seeded(difference) or self._hashed(difference)
        if seeded is not None:
            return seeded
        if (origin is not None and origin.makes_it) or rows.is_explained(difference):
            return None
        seen = read_hashing(difference.a)
        if seen is not None:
            at = origin.call_site if origin is not None else None
            loop = seen.order(("object", "unknown"), difference.call_site, at)
            if loop is not None:
                return self._gone_through(loop.site, loop.kind, seen)
        if difference.kind not in ("order", "flow") and not rows.is_of_data(difference):
            return None
        site = None if seen is None else seen.first(("object",), seen.objects)
        if seen is not None and site is not None:
            doubt = any(item.kind != "object" for item in seen.orders) if seen.orders else bool(seen.values)
            strength = Strength.PLAUSIBLE if doubt and not is_same_in(difference) else Strength.STRONG
            return self._ordered(site, strength)
        if seen is not None and (unsure := seen.first(("unknown",), ())) is not None:
            return self._gone_through(unsure, "unknown", seen)
        if seen is not None and seen.numbers:
            return Evidence(
                self.id, _UNSURE, f"a number is made of an address at {seen.numbers[0]}", seen.numbers[0]
            )
        line = rows.read_source_line(difference.a, difference.call_site)
        if is_same_in(difference) and _WORDS.search(line):
            return Evidence(
                self.id,
                Strength.LAST_RESORT,
                f"the line may depend on addresses: {line}",
                difference.call_site,
            )
        return None

    def _seeded(self, difference: Difference) -> Evidence | None:
        """A seed that differs is made of an address, or of the hash of an object that is hashed by it."""
        from samerun.sources.edits import system_values

        found = system_values.find_seed_site(difference, _gives_address)
        if found is None:
            return None
        seed, site = found
        text = f"{seed.name} got another seed in each run, at {seed.call_site}, made of an address at {site}"
        return Evidence(self.id, Strength.SEEN, text, site)

    def _hashed(self, difference: Difference) -> Evidence | None:
        """A text that was hashed holds the address of an object, and a seed differs, or no generator does."""
        origin = difference.origin
        hashed = rows.list_unequal(difference, "address")
        seed = rows.find_first_differing(difference, "seed")
        if not hashed or (origin is not None and origin.inputs_equal and not origin.draws):
            return None
        if seed is None and rows.has_rng_difference(difference):
            return None
        row = hashed[0]
        text = f"{row.name} at {row.call_site} hashes a text that holds an address: <{row.detail} at 0x…>"
        advice = "leave functions and objects out of what is hashed, or name them: fn.__qualname__"
        return Evidence(
            self.id, Strength.PLAUSIBLE if seed is None else Strength.STRONG, text, row.call_site, advice
        )

    def _ordered(self, site: str, strength: Strength) -> Evidence:
        return Evidence(
            self.id, strength, f"the order at {site} comes from where objects lie in memory", site
        )

    def _gone_through(self, site: str, kind: str, seen: Hashing) -> Evidence:
        if kind == "object":
            return self._ordered(site, Strength.STRONG)
        text = f"the order at {site} may come from where objects lie in memory"
        others = (item.site for item in seen.orders if item.kind == "unknown")
        return Evidence(self.id, _UNSURE, text, site, unless_texts_at=tuple(dict.fromkeys((site, *others))))

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Sets of objects become lists or dicts, sorting by address is left out, seeds become 0."""
        from samerun.sources.edits import addresses, seeds

        edits = addresses.keep_order_of_making(code)
        for file in code.files:
            for node in file.every(ast.Call):
                if _gives_address(code, file, node):
                    edits += seeds.fix_in_seed(file, node, lambda *at: _gives_address(code, *at))
        if not edits:
            raise NoEdit(
                f"what depends on addresses, at {site}, is not an order that could be replaced: {self.advice}"
            )
        return edits


def _gives_address(code: Code, file: File, node: ast.expr) -> bool:
    """Whether an expression is an address, or the hash of an object that is hashed by it."""
    from samerun.sources.edits import container_elements, run_dependent_calls

    if run_dependent_calls.address(file, node):
        return True
    if not isinstance(node, ast.Call) or not run_dependent_calls.takes_hash(file, node):
        return False
    return any(container_elements.is_object(code, (file, item)) for item in node.args)
