"""Noting who seeds a generator, and with what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samerun import callsite, wrapping
from samerun.digest import digest_bytes
from samerun.runs.schema import SEEDED, SEEDING
from samerun.sources.source import Journal, Undo
from samerun.streams import stream_seed
from samerun.wrapping import Parameter

_MOST_OWN = 1000


class SystemSeed(int):
    """A seed that a run is given in the place of the system's, which the script left out."""


class SystemWords(list[int]):
    """The same as words of 32 bits."""


def is_of_system(seed: object) -> bool:
    """Whether a call has no seed of the script's: none, or what samerun put there."""
    return seed is None or isinstance(seed, (SystemSeed, SystemWords))


def note_seed(journal: Journal, function: str, seed: object) -> None:
    """Write a "seed" row: the digest of the seed, and its value when it is a number."""
    if hasattr(seed, "item") and getattr(seed, "ndim", None) == 0:
        seed = seed.item()  # a numpy or torch scalar
    value = float(seed) if isinstance(seed, (int, float)) and abs(seed) < 2**1000 else None
    journal.note("seed", function, digest=digest_bytes(repr(seed).encode()), value=value, user_only=True)


def note_own_seeds(journal: Journal, function: str) -> Callable[[object], None]:
    """What is told each seed of a generator of the script's own, and notes those that the user's lines give.

    So many at most: a data set may make one for each sample.
    """
    left = _MOST_OWN

    def note(seed: object) -> None:
        nonlocal left
        plain = isinstance(seed, (int, float, str, bytes, list, tuple)) or hasattr(seed, "dtype")
        if left and plain and callsite.is_called_directly():
            left -= 1
            note_seed(journal, function, seed)

    return note


def mix_seed(value: int, id_: str, given: object) -> int:
    """The 64 bits that stand for the seed `given` by the script when the source is varied by `value`."""
    return stream_seed(value, id_, "given", repr(given))


def note_given(
    journal: Journal, function: str, owner: Any, when: Callable[[], bool] = lambda: True, also: Any = ()
) -> Undo:
    """Note the seed that `owner`'s function of torch's (its last part) is given, before it runs."""
    parameter = Parameter("seed", 0)

    def hook(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        seed = parameter.of(args, kwargs, None)
        if seed is None or not when():
            return original(*args, **kwargs)
        journal.seeds("torch-", SEEDING)
        note_seed(journal, function, seed)
        result = original(*args, **kwargs)
        journal.seeds("torch-", SEEDED)
        return result

    name = function.rpartition(".")[2]
    # Somebody may have put another function in one of the places: then each place has its own.
    apart = [place for place in also if vars(place).get(name) is not vars(owner).get(name)]
    return wrapping.undo_all(
        [
            wrapping.wrap_attribute(place, name, hook, also if place is owner else ())
            for place in (owner, *apart)
        ]
    )
