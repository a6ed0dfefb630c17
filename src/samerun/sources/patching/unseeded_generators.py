"""Streams for what a script, or a library on its behalf, makes or seeds without a seed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from samerun import callsite, lineage
from samerun.sources.patching import resumed
from samerun.sources.per_sample import seeder
from samerun.streams import Stream, stream

_given: set[int] = set()  # in this process alone: 63 bits of what a generator was seeded with
_MOST_GIVEN = 100_000

lineage.call_in_each_child(seeder.leave_sample)  # else all children of one sample would draw alike
lineage.call_in_each_child(_given.clear)


def note_given(value: int) -> None:
    """A generator that is made without a seed has this instead."""
    if len(_given) < _MOST_GIVEN:
        _given.add(value)


def was_given(value: object) -> bool:
    """Whether a generator that was made without a seed, in this process, has it."""
    return isinstance(value, int) and value in _given  # a SeedSequence may be given a list


class UnseededStreams:
    """A new stream each time: of the line of the user's code, how many it had before, and the process.

    While a keyed sample is being made it is the sample's instead: how often a worker came by a line depends
    on the samples that it got.
    """

    def __init__(self, seed: int, id_: str) -> None:
        self._seed = seed
        self._id = id_
        self._had: dict[str, Iterator[int]] = {}

    def stream(self, *more: str) -> Stream:
        """The next one at the line of the user's code that is being run, under these names as well."""
        keyed = seeder.draw_entropy()
        if keyed is not None:
            return stream(keyed, self._id)
        frame = callsite.find_user_frame(2)
        site = "" if frame is None else callsite.call_site(frame)
        # one step for all threads: two of them must not get the same
        nth = next(self._had.setdefault(site, itertools.count()))
        return stream(self._seed, self._id, site, nth, *more, *resumed.get_path(), *lineage.get_path())
