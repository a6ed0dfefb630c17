"""A dictionary by the object itself, which keeps none of its keys alive."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import pytest

from samerun.recording.by_identity import ByIdentity


class Thing:
    """Equal to all others, and without a hash."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_equal_objects_are_told_apart() -> None:
    known: ByIdentity[Thing, int] = ByIdentity()
    one, two, other = Thing(), Thing(), Thing()
    known[one], known[two] = 1, 2
    assert (known[one], known.get(two), known.get(other), other in known) == (1, 2, None, False)
    known[one] = 3
    assert (len(known), known.values()) == (2, [3, 2])
    assert [key is thing for key, thing in zip(known, (one, two), strict=True)] == [True, True]
    with pytest.raises(KeyError):
        _ = known[other]


def test_what_is_gone_is_forgotten() -> None:
    known: ByIdentity[Thing, int] = ByIdentity()
    one, two = Thing(), Thing()
    known[one], known[two] = 1, 2
    del one
    assert (len(known), known.values()) == (1, [2])


def test_threads_may_change_it_while_others_read_it() -> None:
    known: ByIdentity[Thing, int] = ByIdentity()
    kept = [Thing() for _ in range(50)]
    failed: list[BaseException] = []
    until = time.monotonic() + 1

    def change() -> None:
        while time.monotonic() < until:
            own = [Thing() for _ in range(50)]
            for number, thing in enumerate(own):
                known[thing] = number
            assert [known[thing] for thing in own] == list(range(50))

    def read() -> None:
        while time.monotonic() < until:
            known[kept[0]] = 1
            assert known[kept[0]] == known.get(kept[0]) == 1 and kept[0] in known
            assert len(known.values()) >= 1 and len(list(known)) >= 1 and len(known) >= 1

    def hammer(what: Callable[[], None]) -> None:
        try:
            what()
        except BaseException as error:
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=hammer, args=(what,)) for what in (change, read) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failed
    assert known.values() == [1]
