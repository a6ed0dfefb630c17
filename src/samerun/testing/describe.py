"""How a difference between two entries is put into words."""

from __future__ import annotations

from samerun.ranks.named_digests import Entry


def describe_difference(difference: tuple[Entry | None, Entry | None] | None, before: str, now: str) -> str:
    """A first difference in words: `before` and `now` name the two runs, as in "the first run"."""
    a, b = difference or (None, None)
    if a is None:
        assert b is not None, "there is no difference"
        return f"{b.name or 'the value'} is there in {now} only"
    name = a.name or "the value"
    if b is None:
        return f"{name} is there in {before} only"
    if a.shown == b.shown:
        return f"{name} ({a.shown}) differs"
    return f"{name} is {b.shown} in {now}, and {a.shown} in {before}"
