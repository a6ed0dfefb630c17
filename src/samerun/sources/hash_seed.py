"""The seed of str and bytes hashes: https://docs.python.org/3/using/cmdline.html#envvar-PYTHONHASHSEED."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun import lineage
from samerun.answers import START, Answers
from samerun.editing.edit import Edit, NoEdit
from samerun.errors import TooLate, UsageError
from samerun.runs.difference import Difference, Evidence, Row, Side, Strength
from samerun.runs.plan import Control
from samerun.runs.source_lines import parse_site
from samerun.sources.evidence import rows
from samerun.sources.evidence.hash_order import read_hashing
from samerun.sources.source import Kind, Settings, Source, Undo, Variant
from samerun.streams import stream_seed

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

VARIABLE = "PYTHONHASHSEED"
_LARGEST = 2**32 - 1
_given: str | None = None  # by a run, where the user gives none
_HASH = re.compile(r"\bhash\s*\(")
_HASHES = re.compile(r"\b(set|frozenset|hash)\s*\(|\bfor\b.*\bin\s*\{")


class HashSeed(Source):
    """Sets of strings iterate in another order in each process, unless PYTHONHASHSEED is fixed."""

    id = "hash-seed"
    gives = re.compile(r"builtins\.(hash|set|frozenset)|set|frozenset|.*\.__hash__")
    summary = "hash() of str, and with it the order of sets, differs in each process"
    advice = "start python with PYTHONHASHSEED=0 in its environment, or iterate over sorted(the_set)"
    cannot_mend = (
        "no edit is known that puts a set of the script, or a hash(), in order: start python with "
        f"{VARIABLE}=0 in its environment, since a running process cannot change it"
    )
    reaches_all = True
    kind = Kind.ORDER
    when_late = "warn"  # most trainings do not feel it
    variables = (VARIABLE,)
    modes = ("seeded", "strict", "warn")

    def environment(self, control: Control) -> Mapping[str, str]:
        """The user's own number, else one from the stream.

        Raises UsageError for a value that Python itself would refuse.
        """
        own = os.environ.get(VARIABLE, "")
        if own in ("", "random"):
            return {VARIABLE: str(stream_seed(control.seed, self.id) & _LARGEST)}
        if not own.isdecimal() or int(own) > _LARGEST:
            raise UsageError(
                f"{VARIABLE}={own!r} is not a value Python accepts; "
                f"unset it, or set a number from 0 to {_LARGEST}"
            )
        return {VARIABLE: own}

    def control(self, control: Control) -> Undo | None:
        """Nothing to do when it was fixed before the process started; raises TooLate when it was not."""
        if sys.flags.ignore_environment:
            raise TooLate(f"this python ignores {VARIABLE}, by -E or -I: start it without that flag")
        if not _read_at_start().isdecimal():
            raise TooLate(
                f"{VARIABLE} was not set when this python started, and a running process cannot change it: "
                f"start python with {VARIABLE}=0 in its environment, or use `samerun run`"
            )
        return None

    def describe(self) -> Mapping[str, Any]:
        """The variable as it was when the process started."""
        return {"randomized": not _read_at_start().isdecimal(), VARIABLE: _read_at_start() or None}

    def replay(self, answers: Answers) -> Undo | None:
        """A process has it from its start; say so where it has another than in the recorded run."""
        mine = _given or _read_at_start()
        if not mine or answers.ask(self.id, START, lambda: mine) != mine:
            why = f"this process began with another, or in a python that ignores {VARIABLE}"
            answers.part(self.id, START, "", why)
        return None

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Two other numbers: a set of few strings may keep its order under one of them."""
        return [Variant(f"{VARIABLE}={n}", environment={VARIABLE: n}, likely=0.5) for n in ("1", "4242")]

    def recognise(self, difference: Difference) -> Evidence | None:
        """Hash seeds that were not the same, and nothing that speaks for another source."""
        seeds = [_read_fixed(difference.a), _read_fixed(difference.b)]
        if seeds[0] is not None and seeds[0] == seeds[1]:
            return None
        given = difference.origin
        sized = given is not None and given.draws_other_size and not given.own_generator
        kernel = given is not None and given.inputs_equal and not (given.draws and given.generator_differs)
        if kernel and not sized:
            return None
        said = _describe(seeds)
        seed = rows.find_first_differing(difference, "seed")
        origin = difference.origin.call_site if difference.origin else None
        for site in (difference.call_site, origin, seed.call_site if seed else None):
            text = rows.read_source_line(difference.a, site)
            if _HASHES.search(text):
                return Evidence(
                    self.id, Strength.STRONG, f"{said}, and the line depends on hashes: {text}", site
                )
        made = rows.find_made_by_helper(difference)
        if made is not None and not rows.has_rng_difference(difference):
            return self._made_elsewhere(difference.a, made, said)
        seeded = seed is not None and not rows.is_in_helper(seed)  # what seeds a worker orders no set here
        if seed is not None and rows.is_reordered(difference, seed):
            seeded = False  # a set's elements are seeds
        if seeded and seed is not None:
            return self._find_hash(difference, seed, said)
        if rows.is_explained(difference):
            return None
        return self._find_hashing(difference, origin, said)

    def _find_hash(self, difference: Difference, seed: Row, said: str) -> Evidence | None:
        """A hash() elsewhere in the script's code, which another seed may be made of."""
        seen = read_hashing(difference.a)
        for order in () if seen is None else seen.orders:
            text = rows.read_source_line(difference.a, order.site)
            if order.kind in ("text", "unknown") and _HASH.search(text):
                text = f"{said}, and the seed given at {seed.call_site} may be made of: {text}"
                return Evidence(self.id, Strength.POSSIBLE, text, order.site)
        return None

    def _find_hashing(self, difference: Difference, origin: str | None, said: str) -> Evidence | None:
        """What of the script's code, as far as it was seen to run, depends on hashes."""
        seen = read_hashing(difference.a)
        loop = None if seen is None else seen.order(("text", "unknown"), difference.call_site, origin)
        if loop is not None:
            return Evidence(
                self.id, Strength.STRONG, f"{said}, and {loop.site} iterates over a set", loop.site
            )
        sized = difference.origin is not None and difference.origin.draws_other_size
        if difference.kind not in ("order", "flow") and not sized and not rows.is_of_data(difference):
            return None
        if seen is None:
            return Evidence(self.id, Strength.PLAUSIBLE, said, difference.call_site)
        first = seen.first(("text", "unknown"), () if seen.orders else seen.values)
        if first is None:
            text = f"{said}; no line of the script hashes, but a library may"
            return Evidence(self.id, Strength.REMOTE, text, difference.call_site)
        return Evidence(self.id, Strength.PLAUSIBLE, f"{said}, and {first} depends on hashes", first)

    def _made_elsewhere(self, side: Side, made: Row, said: str) -> Evidence | None:
        """Another program of the command made a file of what it has in sets."""
        own = [row for row in side.evidence if row.process == made.process]
        places = (parse_site(row.call_site) for row in own)
        seen = read_hashing(side, dict.fromkeys(at[0] for at in places if at is not None))
        site = None if seen is None else seen.first(("text", "unknown"), ())
        if site is None:
            return None
        drawn = any(row.what in ("draw", "unseeded", "entropy", "clock", "listing") for row in own)
        text = f"{said}, and {made.detail}, written at {made.call_site}, may hold the order at {site}"
        return Evidence(self.id, Strength.PLAUSIBLE if drawn else Strength.STRONG, text, site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Sets gone through in sorted order, and hashes of text that are the same in each process."""
        from samerun.sources.edits import sets

        edits = sets.put_all_in_order(code)
        edits += sets.pop_in_order(code)
        edits += sets.make_hashes_constant(code, all_of_them=not edits)
        if not edits:
            edits = [edit for place in sets.find_given_away(code) for edit in sets.put_in_order(place, code)]
        if not edits:
            raise NoEdit(self.cannot_mend)
        return edits


def derive(base: int, place: lineage.Path) -> dict[str, str]:
    """The variable of the process at that place, where a run gives each its own so as to know it."""
    return {VARIABLE: str(stream_seed(base, HashSeed.id, *place) & _LARGEST)}


def make_known(run: str, base: int) -> None:
    """Let a program that a shell started begin again with a seed that is known: it got a random one.

    Programs that python starts are given theirs when they start.
    """
    if not (sys.flags.ignore_environment or os.environ.get(VARIABLE)):
        lineage.begin_again(run, lambda place: derive(base, place))


def hide_given(base: int) -> None:
    """Take what a run gave this process out of its environment: it is not the user's."""
    global _given
    mine = derive(base, lineage.get_started_place())[VARIABLE]
    _given = mine if _read_at_start() == mine else None
    if os.environ.get(VARIABLE) == mine:
        del os.environ[VARIABLE]
    _read_at_start.cache_clear()
    lineage.give_each_program(lambda place: derive(base, place) if _is_to_be_given(place) else {})


def _is_to_be_given(program: lineage.Path) -> bool:
    """Not to a shell, say, whose programs would all hash alike, where each of them can begin again."""
    return "python" in str(program[-2]) or not lineage.can_begin_again()


def is_same_in(difference: Difference) -> bool:
    """Whether both runs hashed strings alike, as far as they say."""
    seeds = [side.settings.get(HashSeed.id, {}).get(VARIABLE) for side in (difference.a, difference.b)]
    return seeds[0] is not None and seeds[0] == seeds[1]


def _read_fixed(side: Side) -> str | None:
    value = side.settings.get("hash-seed", {}).get(VARIABLE)
    return str(value) if value is not None and str(value).isdecimal() else None


def _describe(seeds: Sequence[str | None]) -> str:
    if seeds[0] is seeds[1] is None:
        return f"{VARIABLE} was not set, so hashes of str differ"
    return f"{VARIABLE} was {seeds[0] or 'unset'} and {seeds[1] or 'unset'}"


@functools.cache
def _read_at_start() -> str:
    """The variable as this process got it: os.environ may have been changed since, to no effect.

    Nor has it any under -E and -I.
    """
    if sys.flags.ignore_environment:
        return ""
    try:
        with open("/proc/self/environ", "rb") as file:
            for entry in file.read().split(b"\0"):
                if entry.startswith(VARIABLE.encode() + b"="):
                    found = entry.partition(b"=")[2].decode()
                    return "" if found == _given else found
            return ""
    except OSError:  # not Linux
        return "0" if not sys.flags.hash_randomization else os.environ.get(VARIABLE, "")
