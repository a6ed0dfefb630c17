"""Whether a lock would notice one bit: it is inverted in memory, and the run compared with the lock again."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from samerun.errors import RunError
from samerun.experiments.lock.moved import find_moved
from samerun.experiments.lock.observed import Observed
from samerun.experiments.lock.roots import compute_roots
from samerun.runs.lock.content import Environment

_BITS = 128  # of a digest


@dataclass(frozen=True)
class Flip:
    """The bit that was inverted."""

    step: int
    quantity: str
    bit: int


def flip_bit(observed: Observed, flip: Flip) -> Observed:
    """The run with one bit of one digest inverted, and all that is made of it computed again."""
    key = flip.step, flip.quantity
    digest = f"{int(observed.leaves.digests[key], 16) ^ (1 << flip.bit):032x}"
    leaves = replace(observed.leaves, digests={**observed.leaves.digests, key: digest})
    return replace(observed, leaves=leaves, roots=compute_roots(leaves))


def try_flip(locked: Environment, observed: Observed) -> Flip:
    """A bit chosen by chance, which was found. Raises RunError where it was not: that lock proves nothing."""
    step, quantity = secrets.choice(sorted(observed.leaves.digests))
    flip = Flip(step, quantity, secrets.randbelow(_BITS))
    if not find_moved(locked, flip_bit(observed, flip)):
        raise RunError(
            f"One bit was inverted in the {quantity} of step {step}, and the comparison with the lock did "
            "not notice it. Nothing was written; please report it."
        )
    return flip
