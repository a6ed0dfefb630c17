"""One seed for all ranks, and a stream of its own for each."""

from __future__ import annotations

import secrets

from samerun.errors import RanksDisagree
from samerun.ranks import exchange
from samerun.ranks.identity import rank, world_size
from samerun.streams import Name, Stream, checked_seed, stream


def sync_seed(seed: int | None = None) -> int:
    """A seed that every rank has: 0 ≤ seed < 2**64. Every rank must call this, each time.

    Without one, rank 0 draws 32 bits from the operating system's entropy and the others are told; each call
    draws anew. One that is given must be the same on every rank. Goes through the process group, or before
    there is one through torchrun's store. Raises RanksDisagree when the ranks were given different seeds, and
    UsageError for a bad seed or when the ranks cannot meet.
    """
    value = None if seed is None else checked_seed(seed)
    drawn = secrets.randbits(32)  # by way of secrets, so that it counts as read by whoever calls this
    if world_size() == 1:
        return drawn if value is None else value
    given = "" if value is None else str(value)
    said = [text.decode().split() for text in exchange.gather("sync_seed()", f"{drawn} {given}".encode())]
    seeds = [one[1] if len(one) > 1 else None for one in said]
    others = [f"rank {r} {_was_given(other)}" for r, other in enumerate(seeds) if other != seeds[0]]
    if others:
        raise RanksDisagree(
            f"rank 0 {_was_given(seeds[0])}, but {exchange.list_some(others)}; give every rank "
            "the same seed, "
            "or none, and one is drawn for all"
        )
    return int(said[0][0]) if value is None else value


def rank_stream(seed: int, *path: Name) -> Stream:
    """This rank's own stream of a seed and a path of names, unrelated to every other rank's."""
    return stream(seed, "rank", rank(), *path)


def _was_given(seed: str | None) -> str:
    return "was given no seed" if seed is None else f"was given the seed {seed}"
