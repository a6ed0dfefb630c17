"""What must be the same on every rank is the same: weights after init, the data's order."""

from __future__ import annotations

import json
from typing import Any

from samerun.digest import combine, digest_bytes
from samerun.errors import RanksDisagree, SamerunError
from samerun.ranks import exchange
from samerun.ranks.identity import world_size
from samerun.ranks.named_digests import Entry, find_first_difference, list_entries


def check_agree(what: str, value: Any) -> None:
    """Raise RanksDisagree unless `value` is the same on every rank, bit for bit; every rank must call this.

    `value` is a module, anything with `state_dict()`, a tensor, an array, numbers, or these nested in
    mappings and lists; `what` names it in the message. The error, the same on every rank, names the ranks
    that differ from rank 0, and for each the first entry that does. With one rank there is nothing to do.
    Raises UsageError for a value that cannot be compared, and when the ranks cannot meet.
    """
    if world_size() == 1:
        return
    call = f"check_agree({what!r})"
    try:
        mine = list_entries(value)
    except SamerunError as error:
        exchange.gather(call, f"! {error}".encode())  # the others are waiting
        raise
    said = exchange.gather(call, b"=" + _digest(mine))
    unreadable = [
        f"rank {r} could not read its own: {one[2:].decode()}"
        for r, one in enumerate(said)
        if one[:1] == b"!"
    ]
    if unreadable:
        raise RanksDisagree(f"{what} could not be compared: {exchange.list_some(unreadable)}")
    others = [r for r, one in enumerate(said) if one != said[0]]
    if others:
        raise RanksDisagree(_name_difference(what, others, mine, call))


def _name_difference(what: str, others: list[int], mine: list[Entry], call: str) -> str:
    """The message, the same on every rank: which ranks differ from rank 0, and where each does first."""
    firsts = json.loads(
        exchange.broadcast_first(json.dumps([(e.name, e.digest.hex(), e.shown) for e in mine]).encode())
    )
    rank0 = [Entry(name, bytes.fromhex(digest), shown) for name, digest, shown in firsts]
    where = exchange.gather(call, _describe_where(rank0, mine).encode())
    places = [f"rank {r} {where[r].decode()}" for r in others]
    ranks = (
        f"rank {others[0]} differs"
        if len(others) == 1
        else f"ranks {exchange.list_some(list(map(str, others)))} differ"
    )
    return (
        f"{what}: {ranks} from rank 0 (of {world_size()} ranks): {exchange.list_some(places)}. Make it from "
        "one seed on every rank (samerun.sync_seed()), load the same checkpoint everywhere, or broadcast "
        "rank 0's"
    )


def _describe_where(rank0: list[Entry], mine: list[Entry]) -> str:
    """Where this rank differs from rank 0 first."""
    difference = find_first_difference(rank0, mine)
    if difference is None:
        return "does not differ"
    expected, found = difference
    if expected is None:
        assert found is not None
        return f"has {found.name or 'a value'}, which rank 0 has not"
    name = expected.name or "the value"
    if found is None:
        return f"has no {name}"
    return f"in {name} ({found.shown}; on rank 0 {expected.shown})"


def _digest(mine: list[Entry]) -> bytes:
    """One digest for all, whatever the order of mappings."""
    return combine(
        sorted(combine((digest_bytes(e.name.encode("utf-8", "surrogatepass")), e.digest)) for e in mine)
    )
