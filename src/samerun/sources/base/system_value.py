"""What clocks, entropy and identities share: they do harm when they feed a seed, a branch or the data."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.sources.evidence import rows
from samerun.sources.source import Kind, Source

if TYPE_CHECKING:
    from samerun.editing.user_program import Code
    from samerun.sources.edits.system_values import SeedParts

_FEEDS = re.compile(r"seed|default_rng|RandomState|(?-i:Random\()|Generator|shuffle", re.IGNORECASE)
_DRAWS_ITSELF = re.compile(r"\bSystemRandom\(")  # a generator that takes no seed: each draw is a read

# A line that keeps what it reads for itself, as where a measurement begins, or prints it.
_MEASURES = re.compile(r"^\s*\w+\s*=\s*[\w.]+\(\)\s*$|\bprint\(|\blog\w*\.")


class World(Source):
    """A value that the operating system gives, another one in each run."""

    kind = Kind.WORLD
    in_own_code = True
    words: ClassVar[re.Pattern[str]]  # what a line of code that uses it looks like
    # the strength when it was read and nothing else explains the difference; None: most reads are harmless
    unexplained: ClassVar[Strength | None] = None
    guesses: ClassVar[bool] = True  # a read may have fed a seed though the code does not show it

    def reads(self, difference: Difference) -> list[Row]:
        """Its rows in run A, up to the difference, but those that gave the same in run B."""
        return rows.list_unequal(difference, self.evidence)

    def is_read_in(self, difference: Difference, lines: Collection[str]) -> bool:
        """Whether one of these lines of code reads it, by their text."""
        texts = {line.strip() for line in lines}
        return any(
            rows.read_source_line(difference.a, row.call_site).strip() in texts
            for row in self.reads(difference)
        )

    def recognise(self, difference: Difference) -> Evidence | None:
        """It feeds a seed that differs, stands in the differing line, or fed a branch."""
        found = self._find(difference)
        return None if found is None else replace(found, in_library=self._is_in_library(difference, found))

    def _is_in_library(self, difference: Difference, found: Evidence) -> bool:
        """Whether a library that a line calls reads it, and not the line itself, as far as it shows."""
        read = {row.call_site for row in self.reads(difference)}
        sites = {found.call_site} & read or read
        code = rows.read_code(difference.a)
        if code is None or not sites or None in sites:
            return False
        texts = [rows.read_source_line(difference.a, site) for site in sites]
        try:
            called = [file.called(call) for file, calls in map(code.calls, sites) for call in calls]
        except NoEdit:
            return False
        return all(texts) and not any(map(self.words.search, (*texts, *(f"{name}()" for name in called))))

    def _find(self, difference: Difference) -> Evidence | None:
        origin = difference.origin
        if origin is not None and origin.inputs_equal and not origin.draws:
            return None
        seeds = rows.list_differing(difference, "seed")
        for seed in seeds:
            found = self._feeding(difference, seed)
            if found is not None:
                return found
        if any(_is_shared(seed) for seed in seeds):
            return None  # a generator of the script's own may be for a name, and leave the reason to others
        return self._seeding_line(difference) or self._direct(difference)

    def _feeding(self, difference: Difference, seed: Row) -> Evidence | None:
        said = f"{seed.name} was given another seed in each run, at {seed.call_site}"
        text = rows.read_source_line(difference.a, seed.call_site)
        near = min(self.reads(difference), key=lambda row: rows.count_lines_before(row, seed), default=None)
        distance = None if near is None else rows.count_lines_before(near, seed)
        if distance == 0:
            return Evidence(self.id, Strength.SEEN, f"{said}, a line that reads it", seed.call_site)
        made = self._made_of(difference, seed)
        if made is not None and made.reads:
            site = made.reads[0]
            return Evidence(
                self.id, Strength.SEEN, f"{said}, and the seed is made of what {site} reads", site
            )
        if self._reads_alike(difference, seed.call_site):
            return None
        if self.words.search(text):
            return Evidence(
                self.id,
                Strength.SEEN if distance is not None else Strength.STRONG,
                f"{said}: {text}",
                seed.call_site,
            )
        if made is not None and (made.others or not self.guesses):
            return None
        if near is not None and distance is not None and distance <= rows.NEAR:
            return Evidence(
                self.id, Strength.STRONG, f"{said}, and {near.call_site} just before reads it", near.call_site
            )
        sites = {row.call_site for row in self.reads(difference)}
        if sites:
            at = next(iter(sites)) if len(sites) == 1 else seed.call_site
            return Evidence(self.id, Strength.PLAUSIBLE, f"{said}, and the script reads it", at)
        return None

    def _made_of(self, difference: Difference, seed: Row) -> SeedParts | None:
        from samerun.sources.edits import system_values

        code = rows.read_code(difference.a)
        if code is None:
            return None
        return system_values.find_seed_parts(code, self.evidence, self.reads(difference), seed)

    def _reads_alike(self, difference: Difference, site: str | None) -> bool:
        """Whether a line reads it, and had the same from it in both runs."""
        return any(row.call_site == site for row in difference.a.rows(self.evidence)) and not any(
            row.call_site == site for row in self.reads(difference)
        )

    def _seeding_line(self, difference: Difference) -> Evidence | None:
        for row in self.reads(difference):
            text = rows.read_source_line(difference.a, row.call_site)
            if _FEEDS.search(text) and not _is_unseeded(difference, row):
                done = "drawn from it" if _DRAWS_ITSELF.search(text) else "seeded"
                said = f"{row.name} is read where something is {done}: {text}"
                return Evidence(self.id, Strength.STRONG, said, row.call_site)
        return None

    def _direct(self, difference: Difference) -> Evidence | None:
        text = rows.read_source_line(difference.a, difference.call_site)
        if self.words.search(text) and not self._reads_alike(difference, difference.call_site):
            # What a line prints beside a time may differ for another reason.
            strength = Strength.FAIR if difference.what == "printed" else Strength.STRONG
            return Evidence(
                self.id, strength, f"the line that differs reads it: {text}", difference.call_site
            )
        reads = [row for row in self.reads(difference) if not _is_unseeded(difference, row)]
        if not reads or rows.has_rng_difference(difference):
            return None
        used = self._used(difference, reads)
        if used is not None:
            return used
        if (made := self._making(difference, reads)) is not None:
            return made
        last = self.branching(difference) or reads[-1]
        said = f"{last.name} was read at {last.call_site or 'an unknown line'} before the difference"
        if difference.kind in ("flow", "ended"):
            return Evidence(
                self.id, Strength.PLAUSIBLE, f"{said}, and the runs took different branches", last.call_site
            )
        return Evidence(self.id, self.unexplained, said, last.call_site) if self.unexplained else None

    def _making(self, difference: Difference, reads: Sequence[Row]) -> Evidence | None:
        """A program that does not train reads it, and makes a file that differs."""
        made = rows.find_made_by_helper(difference)
        there = [row for row in reads if made is not None and row.process == made.process]
        if made is None or not there:
            return None
        timing = [
            row for row in there if _MEASURES.search(rows.read_source_line(difference.a, row.call_site))
        ]
        read = next((row for row in reversed(there) if row not in timing), there[-1])
        text = f"{read.name} was read at {read.call_site} by the program that makes {made.detail}"
        return Evidence(self.id, Strength.POSSIBLE, f"{text}, which differs", read.call_site)

    def _used(self, difference: Difference, reads: Sequence[Row]) -> Evidence | None:
        from samerun.sources.edits import system_values

        code = rows.read_code(difference.a)
        found = None if code is None else system_values.find_use(code, self.evidence, reads, difference)
        if found is None:
            return None
        site, computed = found
        text = f"what is read at {site} goes into what differs, by way of {computed}"
        return Evidence(self.id, Strength.STRONG, text, site)

    def branching(self, difference: Difference) -> Row | None:
        """The last read, not before the step before the difference, on a line that branches or compares."""
        if difference.kind not in ("flow", "ended"):
            return None
        for row in reversed(self.reads(difference)):
            if row.step < difference.step - 1:
                return None
            if rows.has_branch(difference.a, row.call_site) and not _is_unseeded(difference, row):
                return row
        return None

    def is_plain_in(self, difference: Difference) -> bool:
        """Runs part at another step each time by what it gives, so that no window could be aimed at that."""
        return self.branching(difference) is not None

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """A constant in the place of what it gives to a seed, and the like."""
        from samerun.sources.edits import system_values

        reads = self.reads(difference) or difference.a.rows(self.evidence)
        return system_values.fix_values(self.evidence, reads, self.cannot_mend, difference, site, code)


def _is_shared(seed: Row) -> bool:
    from samerun.sources.edits.seeds import GENERATORS

    return seed.name in GENERATORS


def _is_unseeded(difference: Difference, row: Row) -> bool:
    """Whether the read was made by a generator without a seed, which is another source's."""
    if row.what == "unseeded":  # it made one of its own, perhaps on the same line
        return False
    return any(other.call_site == row.call_site for other in difference.a.rows("unseeded", "numpy-generator"))
