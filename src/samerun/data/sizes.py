"""How large each part is: counts as they are, fractions by largest remainders, all in exact arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from samerun.errors import UsageError

TOLERANCE = Fraction(1, 10**6)  # fractions of float32, or of a third each, do not sum to 1 exactly
EXAMPLE = "pass one for each part, such as [0.8, 0.1, 0.1] or [800, 100, 100]"

Share = int | Fraction


def shares_of(fractions_or_counts: Any) -> list[Share]:
    """The parts' counts as int, or, if any of them is a float, their fractions, which sum to exactly 1.

    Raises UsageError for anything else, for a negative share, and for fractions that do not sum to 1.
    """
    if isinstance(fractions_or_counts, str | bytes | dict | set) or not hasattr(
        fractions_or_counts, "__iter__"
    ):
        raise UsageError(f"fractions or counts are a sequence, not {fractions_or_counts!r}; {EXAMPLE}")
    given = [_number(share) for share in fractions_or_counts]
    if not given:
        raise UsageError(f"there is no fraction or count; {EXAMPLE}")
    if any(share < 0 for share in given):
        raise UsageError(f"a fraction or count is negative in {_format_shares(given)}; {EXAMPLE}")
    if all(isinstance(share, int) for share in given):
        return [int(share) for share in given]
    # By its shortest decimal form 0.1 is a tenth, so that 0.15 and 0.35 of 10 tie, as they do on paper.
    fractions = [Fraction(repr(share)) for share in given]
    total = sum(fractions, Fraction(0))
    if abs(total - 1) > TOLERANCE:
        raise UsageError(
            f"the fractions {_format_shares(given)} sum to {float(total):.6g}, not to 1; {EXAMPLE}"
        )
    return [fraction / total for fraction in fractions]


def compute_sizes(shares: Sequence[Share], samples: int) -> list[int]:
    """The size of each part, ≥ 0; they sum to `samples`.

    Fractions are rounded by largest remainders (the first part wins a tie), so that each size is less than 1
    away from its fraction. Raises UsageError for counts that sum to something else.
    """
    fractions = [share for share in shares if isinstance(share, Fraction)]
    if not fractions:
        counts = [int(share) for share in shares]
        if sum(counts) != samples:
            raise UsageError(
                f"the counts {_format_shares(counts)} sum to {sum(counts)}, but there are {samples} samples; "
                f"pass counts that use each sample once, or fractions such as 0.8"
            )
        return counts
    exact = [fraction * samples for fraction in fractions]
    sizes = [math.floor(size) for size in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda part: sizes[part] - exact[part])
    for part in by_remainder[: samples - sum(sizes)]:
        sizes[part] += 1
    return sizes


def _number(share: Any) -> int | float:
    if not isinstance(share, bool):
        try:
            return operator.index(share)
        except TypeError:
            pass
        if hasattr(share, "__float__") and math.isfinite(number := float(share)):
            return number
    raise UsageError(f"a fraction or count is a number, not {share!r}; {EXAMPLE}")


def _format_shares(shares: Sequence[int | float]) -> str:
    return f"[{', '.join(f'{share:.10g}' if isinstance(share, float) else str(share) for share in shares)}]"
