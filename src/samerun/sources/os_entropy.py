"""The operating system's entropy: https://docs.python.org/3/library/os.html#os.urandom."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samerun.digest import digest_bytes
from samerun.runs.difference import Difference, Row
from samerun.runs.plan import Control
from samerun.sources import _patch, _user_code
from samerun.sources._world import World
from samerun.sources.python_random import patch_seed
from samerun.sources.source import Journal, Undo
from samerun.streams import Stream, stream
from samerun.wrapping import Around

if TYPE_CHECKING:
    pass


class OsEntropy(World):
    """os.urandom, and with it uuid4, secrets, SystemRandom and `random.Random()` made without a seed."""

    id = "os-entropy"
    summary = "the script draws from the operating system's entropy, which never repeats"
    advice = "random.Random(0) in the place of random.Random(), SystemRandom, secrets, uuid4, os.urandom"
    cannot_mend = "what it feeds is not known: draw from random.Random(0) instead"
    evidence = "entropy"
    words = re.compile(r"urandom|uuid[14]|secrets\.|SystemRandom|getrandom|Random\(\)")
    unexplained = 0.4

    def reads(self, difference: Difference) -> list[Row]:
        """Reads of entropy, and generators of python made without a seed."""
        return [*difference.a.rows("entropy"), *difference.a.rows("unseeded", self.id)]

    def control(self, control: Control) -> Undo | None:
        """On request: what the user's code draws comes from a stream of (line of code, order)."""
        made: Counter[str] = Counter()

        def here() -> Stream | None:
            frame = _user_code.user_frame(2)
            if frame is None:
                return None
            site = _user_code.call_site(frame)
            made[site] += 1
            return stream(control.seed, self.id, site, made[site])

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            size, found = args[0] if args else kwargs.get("size"), here()
            if found is None or not isinstance(size, int) or size < 0:
                return original(*args, **kwargs)
            return found.python().randbytes(size)

        def seed(original: Callable[..., None], self_: random.Random, a: Any, version: int) -> None:
            if a is None and (found := here()) is not None:
                a = found.seed64
            original(self_, a, version)

        return _patch.all_of([_patch_reads(read), patch_seed(seed)])

    def observe(self, journal: Journal) -> Undo | None:
        """Note each read made for the user's code."""

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            found = original(*args, **kwargs)
            journal.note("entropy", f"os.{original.__name__}", digest=digest_bytes(found), user_only=True)
            return found

        return _patch_reads(read)


def _patch_reads(call: Around) -> Undo:
    """Have it make the calls of os.urandom, by random's own name for it too, and of os.getrandom."""
    undos = []
    for name in ("urandom", "getrandom"):
        if not hasattr(os, name):  # not Linux
            continue
        undos.append(_patch.for_others(os, name, call))
        if name == "urandom" and "_urandom" in vars(random):
            undos.append(_patch.replace(random, "_urandom", os.urandom))
    return _patch.all_of(undos)
