"""The order in which the same things came in a recorded run, given to them again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from samerun.answers import Answers
from samerun.digest import digest_bytes

_MOST = 100_000  # names of one folder whose order is kept


def put_in_order(
    answers: Answers,
    source: str,
    found: list[Any],
    path: str,
    site: str,
    name: Callable[[Any], Any] = lambda item: item,
) -> list[Any]:
    """What was found, in the order in which the recorded run found the same names; else as it is.

    Kept are a digest of the sorted names, and for each thing in turn its place among the sorted.
    """
    if len(found) > _MOST:
        answers.part(source, path, site, f"it holds more than {_MOST} names, whose order is not kept")
        return found
    ranked = sorted(range(len(found)), key=lambda at: name(found[at]))
    names = digest_bytes(b"\0".join(os.fsencode(name(found[at])) for at in ranked))
    places = [0] * len(found)
    for place, at in enumerate(ranked):
        places[at] = place
    kept_names, kept_places = answers.ask(source, path, lambda: [names, places], site)
    if kept_names != names or not _is_order(kept_places, len(found)):
        answers.part(source, path, site, "other names are there than in the recorded run")
        return found
    return [found[ranked[place]] for place in kept_places]


def _is_order(places: Sequence[int], count: int) -> bool:
    return sorted(places) == list(range(count))
