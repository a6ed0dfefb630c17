"""Merkle roots over the leaves of a run: one digest that stands for every step, and can be opened at one.

A leaf is sha256 of a zero byte, the step, the quantity and its digest, a node sha256 of a one byte and its
two children; the last node of an odd level goes up as it is (as in RFC 6962).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from samerun.experiments.lock.leaves import Leaves

ALL = "all"


def compute_roots(leaves: Leaves) -> dict[str, str]:
    """The root of each quantity over its steps, and as "all" sha256 of these (64 hexadecimal digits)."""
    by_quantity: dict[str, list[bytes]] = {}
    for (step, quantity), digest in sorted(leaves.digests.items()):
        leaf = sha256(f"\0{step} {quantity} {digest}".encode()).digest()
        by_quantity.setdefault(quantity, []).append(leaf)
    roots = {quantity: _build_root(found) for quantity, found in sorted(by_quantity.items())}
    every = "".join(f"{quantity} {root}\n" for quantity, root in roots.items())
    return roots | {ALL: sha256(every.encode()).hexdigest()}


def _build_root(level: Sequence[bytes]) -> str:
    while len(level) > 1:
        pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
        level = [pair[0] if len(pair) == 1 else sha256(b"\1" + pair[0] + pair[1]).digest() for pair in pairs]
    return level[0].hex()
