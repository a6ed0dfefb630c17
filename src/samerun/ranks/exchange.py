"""The ranks tell each other bytes: through their process group, or through a store before there is one.

Every rank must make the same calls in the same order, as with torch's own collectives.
"""

from __future__ import annotations

from samerun.errors import RanksDisagree
from samerun.ranks import group, store
from samerun.ranks.identity import has_group


def gather(call: str, data: bytes) -> list[bytes]:
    """Every rank's `data` (each of its own length), in the order of the ranks.

    `call` says what is being done. Raises RanksDisagree when another rank is doing something else, and
    UsageError when the ranks cannot meet.
    """
    name = call.encode("utf-8", "surrogatepass")
    data = len(name).to_bytes(4, "little") + name + data
    said = group.gather(data) if has_group() else store.gather(data)
    calls = [one[4 : 4 + int.from_bytes(one[:4], "little")].decode("utf-8", "replace") for one in said]
    others = [f"rank {rank} is in {other}" for rank, other in enumerate(calls) if other != calls[0]]
    if others:
        raise RanksDisagree(
            f"rank 0 is in {calls[0]}, but {list_some(others)}; every rank must make the same "
            "calls in the same "
            "order"
        )
    return [one[4 + len(name) :] for one in said]


def broadcast_first(data: bytes) -> bytes:
    """Rank 0's `data`, on every rank; what the others pass does not count."""
    return group.broadcast_first(data) if has_group() else store.broadcast_first(data)


def list_some(items: list[str]) -> str:
    """Items with commas between them; of many, the first eight and how many more there are."""
    return ", ".join(items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")
