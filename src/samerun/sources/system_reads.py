"""What the system says of itself and of others: https://docs.python.org/3/library/os.html."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from samerun import callsite
from samerun.answers import Answers
from samerun.digest import digest_bytes
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.schema import STEADY
from samerun.sources.base.system_value import World
from samerun.sources.evidence import rows
from samerun.sources.input_data import find_changed_file, find_script
from samerun.sources.patching import attribute
from samerun.sources.patching.replayed_calls import name_call
from samerun.sources.patching.system_calls.calls import (
    CALLS,
    DRAWS_OF_ITS_OWN,
    MODULES,
    NOTHING,
    UNKNOWN,
    Call,
    pack,
)
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

_NO_SEED = "ask for the rows in an order (ORDER BY id), and draw in Python: RANDOM() of SQLite takes no seed"
_NUMBERED = "name the files by a number: open(os.path.join(folder, f'{number:03}'), 'wb')"


class SystemReads(World):
    """Load, memory, space, ports, times of files, temporary names, what servers and programs answer.

    What the user's own lines read is noted with a digest: a read that gave the same in both runs is no cause.
    There is no control, since no other value would be true; a recorded run's values can be given again.
    """

    id = "system-reads"
    gives = re.compile(
        r"(psutil|socket|_socket|resource|subprocess|tempfile|urllib|requests|httpx|http|sqlite3|signal|gc|sys|shutil"
        r"|platform|locale)\.(?!.*(copy|rmtree|path|exit|stdout|stderr|argv)).*"
        r"|(threading|_thread)\.(get_ident|get_native_id|active_count|enumerate|current_thread)|(os|posix)\.(?!path|environ|_Environ|getenv|makedirs|mkdir|fspath"
        r"|listdir|scandir|walk|urandom|getp).*|(posixpath|genericpath)\.get.*|.*\.(stat|lstat|st_mtime|fetchall|fetchone|getoutput)"
    )
    summary = "the script reads what the system has now: memory, load, disk space, ports, times of files"
    advice = (
        "keep what the system says out of seeds, sizes and data: put a number, or an argument, in its place"
    )
    cannot_mend = (
        "what the system says is used for more than a seed: put a number, or an argument, in its place"
    )
    controllable = False
    also_hooks_into = MODULES
    evidence = "system"
    guesses = False
    words = re.compile(
        r"os\.(sysconf|(process_)?cpu_count|sched_getaffinity|times|f?statvfs|getloadavg)\(|getrusage|disk_usage"
        r"|psutil\.|getsockname|getaddrinfo|gethostbyname|mk[sd]?temp\(|TemporaryFile|TemporaryDirectory"
        r"|get_ident|get_native_id|st_[amc]time|st_ino|get[amc]time\(|urlopen|check_output\(|\bgetoutput\(|requests\.|[\"']/(proc|sys)/|(?i:\brandom(blob)?\(\).*[\"'])"
    )

    def __init__(self) -> None:
        self._patched: dict[Call, Undo] = {}
        self._journal: Journal | None = None
        self._answers: Answers | None = None

    def recognise(self, difference: Difference) -> Evidence | None:
        """As of any value; else temporary files listed by their names, or the last read before data."""
        found = super().recognise(difference)
        if found is not None and found.strength >= Strength.SEEN:
            return found
        if (made := self._written_by_script(difference)) is not None:
            return made
        return self._named_at_random(difference) or found or self._read_before(difference)

    def _written_by_script(self, difference: Difference) -> Evidence | None:
        """A file that differs is written by a shell script, which makes it anew in each run."""
        origin = difference.origin
        changed = None if origin is not None and origin.makes_it else find_changed_file(difference)
        given = None if changed is None else find_script(difference, changed)
        if changed is None or given is None:
            return None
        text = f"{changed.detail}, which {changed.call_site} reads, is made of {given.read} at {given.site}"
        advice = "let the script write the same file each time: from a fixed seed, or in a fixed order"
        return Evidence(self.id, Strength.SEEN, text, given.site, advice, beyond_control=True)

    def _used(self, difference: Difference, reads: Sequence[Row]) -> Evidence | None:
        """What goes into what differs; a temporary folder's name goes into paths, and seldom further."""
        others = [row for row in reads if row.name != "tempfile"]
        return super()._used(difference, others) or super()._used(difference, reads)

    def _named_at_random(self, difference: Difference) -> Evidence | None:
        """A file that got its name at a line of the user's was found by listing its folder, and read."""
        if difference.origin is not None and (difference.origin.inputs_equal or difference.origin.draws):
            return None
        if rows.has_rng_difference(difference):
            return None
        sites = {row.call_site for row in self.reads(difference) if row.name == "tempfile"}
        folders = {row.detail for row in difference.a.rows("listing")}
        read = {row.detail for row in difference.a.rows("opened")}
        for made in difference.a.rows("written"):
            if (
                made.call_site in sites
                and made.detail in read
                and os.path.dirname(str(made.detail)) in folders
            ):
                text = f"files that got a random name at {made.call_site} are listed, and read in that order"
                return Evidence(self.id, Strength.STRONG, text, made.call_site, _NUMBERED)
        return None

    def _read_before(self, difference: Difference) -> Evidence | None:
        """The last value read before data differs that nothing explains; what a database drew, if it did."""
        origin, seed = difference.origin, rows.find_first_differing(difference, "seed")
        enters = origin is not None and not origin.inputs_equal  # no operation of torch made what differs
        if not (enters or rows.is_of_data(difference)):
            return None
        reads = self.reads(difference)
        kernel = origin is not None and origin.inputs_equal and not origin.draws
        if not reads or seed or kernel or rows.has_rng_difference(difference):
            return None
        drawn = [row for row in reads if (row.name or "").startswith(DRAWS_OF_ITS_OWN)]
        if drawn:
            text = f"{drawn[-1].name} drew random numbers at {drawn[-1].call_site} before the data differed"
            return Evidence(self.id, Strength.PLAUSIBLE, text, drawn[-1].call_site, _NO_SEED)
        last = reads[-1]
        text = f"{last.name} was read at {last.call_site or 'an unknown line'} before the data differed"
        return Evidence(self.id, Strength.SLIGHT, text, last.call_site)

    def observe(self, journal: Journal) -> Undo | None:
        """Note what the user's lines ask for, of the modules that are there; called again as others come."""
        self._journal = journal
        self._patch()
        return self._stop_observing

    def replay(self, answers: Answers) -> Undo | None:
        """What the user's lines were given, where that can be given again."""
        self._answers = answers
        self._patch()
        return self._stop_replaying

    def _stop_observing(self) -> None:
        self._journal = None
        self._leave()

    def _stop_replaying(self) -> None:
        self._answers = None
        self._leave()

    def _patch(self) -> None:
        """Once for both: Python itself makes these calls by the thousand."""
        for call in CALLS:
            owner = None if call in self._patched else call.find_owner()
            if owner is not None:
                self._patched[call] = attribute.patch_for_others(*owner, self._make_hook(call))

    def _leave(self) -> None:
        if self._journal is None and self._answers is None:
            while self._patched:
                _, undo = self._patched.popitem()
                undo()

    def _make_hook(self, call: Call) -> Around:
        def ask(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            value = original(*args, **kwargs)
            site = call.find_site() if _may_be_the_users() else None
            taken = NOTHING if site is None else call.take(args, value)
            if site is None or taken is NOTHING:
                return value
            if self._journal is not None:
                digest = None if taken is UNKNOWN else digest_bytes(repr(taken).encode())
                detail = STEADY if call.steady else None
                self._journal.note("system", call.shown, digest=digest, detail=detail, user_only=True)
            if self._answers is None:
                return value
            packed = pack(taken)
            if call.cannot_keep or packed is UNKNOWN:
                self._answers.part(self.id, call.shown, site, call.cannot_keep or "it gives no plain value")
                return value
            plain = call.named or "." in call.path  # what a program was given may hold a password
            name = call.shown if plain else name_call(call.shown, args, kwargs)
            return call.restore(self._answers.ask(self.id, name, lambda: packed, site), value)

        return ask


_ON_THE_WAY = frozenset(("samerun.wrapping", "samerun.sources.patching.attribute", __name__))


def _may_be_the_users() -> bool:
    """Whether neither samerun asks, as a source does that describes the machine, nor Python for itself.

    Importing torch makes ten thousand calls of the second kind, so they are known by the frame that calls.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _ON_THE_WAY:
        frame = frame.f_back
    return frame is not None and not (
        callsite.acts_for_itself(frame) or str(frame.f_globals.get("__name__")).startswith("samerun.")
    )
