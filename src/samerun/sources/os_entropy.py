"""The operating system's entropy: https://docs.python.org/3/library/os.html#os.urandom."""

from __future__ import annotations

import _random
import os
import random
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from samerun import callsite
from samerun.answers import Answers, find_site, is_secret
from samerun.digest import digest_bytes
from samerun.runs.difference import Difference, Evidence, Row, Side, Strength
from samerun.runs.plan import VARIABLE, Control
from samerun.runs.schema import ENTROPY_FILES, WORKER
from samerun.runs.source_lines import parse_site
from samerun.sources.base.library_seeds import find_library_seed
from samerun.sources.base.system_value import World
from samerun.sources.evidence.rows import read_source_line
from samerun.sources.numpy_generator import OF_LIBRARY, patch_randbits
from samerun.sources.patching import attribute, seeding_calls
from samerun.sources.patching.unseeded_generators import UnseededStreams, note_given
from samerun.sources.python_random import draw_seed, names_files, patch_seed
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

_NUMPY = "numpy.random"
_EACH = (
    "random.Random(random.getrandbits(64)), and random.seed(0) once as the script begins: the line runs "
    "again, and a constant would give the same numbers each time"
)
_IN_WORKERS = (
    "the functions of `random` themselves, such as random.random(): torch seeds them in each worker; a "
    "generator that the dataset holds is copied into each of them, anew in each epoch"
)
_numpys = threading.local()  # own: whether NumPy is reading entropy for a generator of its own


class OsEntropy(World):
    """os.urandom, and with it uuid4, secrets, SystemRandom and `random.Random()` made without a seed.

    Entropy is controlled where a line of the user's own code asks for it: what a library makes of it (the
    name of a run, a key, a file) must be another in each run. A `random.Random()` is controlled whoever makes
    it, since it is there to be drawn from; but not tempfile's, which names files and semaphores.
    """

    id = "os-entropy"
    gives = re.compile(
        r"posix\.(urandom|getrandom)|os\.(urandom|getrandom)|secrets\..*|uuid\.uuid[14]|random\.(System)?Random\b.*"
    )
    summary = "the script draws from the operating system's entropy, which never repeats"
    advice = "random.Random(0) in the place of random.Random(), SystemRandom, secrets, uuid4, os.urandom"
    cannot_mend = "what it feeds is not known: draw from random.Random(0) instead"
    modes = ("seeded", "strict", "warn")
    also_hooks_into = (_NUMPY,)
    evidence = "entropy"
    words = re.compile(r"urandom|dev/random|uuid4|secrets\.|SystemRandom|getrandom|Random\(\)")
    unexplained = Strength.PLAUSIBLE

    def __init__(self) -> None:
        self._waits_for_numpy: Control | None = None
        self._observed = False
        self._replayed = False

    def reads(self, difference: Difference) -> list[Row]:
        """Reads of entropy, and generators of python made without a seed."""
        return [*super().reads(difference), *difference.a.rows("unseeded", self.id)]

    def recognise(self, difference: Difference) -> Evidence | None:
        """As any value of the system's; what comes from a file of entropy is beyond its control."""
        found = super().recognise(difference)
        if found is None:
            return None
        rows = [row for row in self.reads(difference) if row.call_site == found.call_site]
        if found.advice is None and any(row.what == "unseeded" for row in rows):
            found = replace(found, advice=_advise(difference.a, found.call_site, again=len(rows) > 1))
        elif found.advice is None and any(f".{WORKER}" in row.process for row in rows):
            found = replace(found, advice=_IN_WORKERS)
        of_file = any(
            row.name in ENTROPY_FILES and row.call_site == found.call_site for row in self.reads(difference)
        )
        return replace(found, beyond_control=True) if of_file else found

    def control(self, control: Control) -> Undo | None:
        """Draw from a stream of (line of code, how often it came there, process).

        Called once more when numpy.random is imported, whose own reads are another source's.
        """
        undos = [_leave_numpy_alone()] if _NUMPY in sys.modules else []
        if control is self._waits_for_numpy:
            self._waits_for_numpy = None
            return attribute.undo_all(undos)
        if not undos:
            self._waits_for_numpy = control
        unseeded = UnseededStreams(control.seed, self.id)

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            size = args[0] if args else kwargs.get("size")
            own = getattr(_numpys, "own", False) or not callsite.is_called_directly()
            own = own or bool(kwargs and original.__name__ == "urandom")  # which takes none, and says so
            if own or not isinstance(size, int) or size < 0:
                return original(*args, **kwargs)
            return unseeded.stream(*_list_arguments()).python().randbytes(size)

        def seed(original: Callable[..., None], self_: random.Random, a: Any, version: int) -> None:
            own = self_ is not random._inst
            if own and (not names_files() if a is None else find_library_seed() is not None):
                a = unseeded.stream().seed64
                original(self_, a, version)
                note_given(hash(_random.Random.getstate(self_)))  # a class of the user's may have its own
                return
            original(self_, a, version)

        return attribute.undo_all([*undos, _patch_reads(read), patch_seed(seed)])

    def replay(self, answers: Answers) -> Undo | None:
        """What it gives by way of the user's lines, but for what becomes a key or a token.

        Once, and not again when NumPy is imported, whose own reads are another source's.
        """
        if self._replayed:
            return None
        self._replayed = True

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            site = None if names_files() else find_site()
            if site is None or kwargs or len(args) != 1 or not isinstance(args[0], int):
                return original(*args, **kwargs)
            name = f"os.{original.__name__}({args[0]})"
            if is_secret():
                answers.part(self.id, name, site, "what becomes a key or a token is not kept")
                return original(*args)
            return answers.ask(self.id, name, lambda: original(*args), site)

        def seed(original: Callable[..., None], self_: random.Random, a: Any, version: int) -> None:
            site = None
            if self_ is not random._inst and not names_files():
                site = find_site() if a is None else find_library_seed()
            if site is not None:
                a = seeding_calls.SystemSeed(answers.ask(self.id, "random.Random", draw_seed, site))
            original(self_, a, version)

        return attribute.undo_all([patch_seed(seed), _patch_reads(read)])

    def observe(self, journal: Journal) -> Undo | None:
        """Note each read made for the user's code; the import of NumPy changes nothing here."""
        if self._observed:
            return None
        self._observed = True

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            found = original(*args, **kwargs)
            journal.note("entropy", f"os.{original.__name__}", digest=digest_bytes(found), user_only=True)
            return found

        return attribute.undo_all([lambda: setattr(self, "_observed", False), _patch_reads(read)])


def _advise(side: Side, site: str | None, *, again: bool) -> str | None:
    """For a `random.Random()`: another one where a library makes it, or the line runs again."""
    at, folder = parse_site(site), side.manifest.get("cwd")
    line = read_source_line(side, site)
    is_ours = at is None or not isinstance(folder, str) or Path(folder, at[0]).exists()
    if line and not (is_ours and "Random(" in line):
        return OF_LIBRARY
    return _EACH if again else None


def _list_arguments() -> list[str]:
    """The program's arguments: a uuid or a token names files, and a sweep's commands run side by side.

    Not in a program that controls itself, as a test does: it gets the same whoever starts it.
    """
    return [*map(callsite.name_in_original, sys.argv[1:])] if VARIABLE in os.environ else []


def _leave_numpy_alone() -> Undo:
    def randbits(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        _numpys.own = True
        try:
            return original(*args, **kwargs)
        finally:
            _numpys.own = False

    return patch_randbits(randbits) or attribute.undo_all([])


def _patch_reads(call: Around) -> Undo:
    """Have it make the calls of os.urandom, by random's own name for it too, and of os.getrandom."""
    undos = []
    for name in ("urandom", "getrandom"):
        if not hasattr(os, name):  # not Linux
            continue
        undos.append(attribute.patch_for_others(os, name, call))
        if name == "urandom" and "_urandom" in vars(random):
            undos.append(attribute.replace(random, "_urandom", os.urandom))
    return attribute.undo_all(undos)
