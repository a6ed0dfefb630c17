"""A dictionary by the object itself, which keeps none of its keys alive."""

from __future__ import annotations

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
