"""What a number of equal runs proves about differences that do not show every time."""

from __future__ import annotations

LEVEL = 0.95


def compute_rarest(equal: int) -> float:
    """The largest share of runs that may differ from the rest, at 95 % confidence, when `equal` runs agree.

    The exact upper limit of Clopper and Pearson (1934) for no failure in `equal` tries:
    1 - 0.05**(1 / equal). For 30 runs it is 9.5 %.
    """
    share: float = 1 - (1 - LEVEL) ** (1 / equal)
    return share


def describe_confidence(equal: int) -> str:
    """For people: "30 equal runs: fewer than 9.6 % of runs differ, at 95 % confidence"."""
    percent = compute_rarest(equal) * 100
    # rounded up, so that what is said stays true
    said = f"{-(-percent // 1):.0f}" if percent >= 10 else f"{-(-percent * 10 // 1) / 10:.1f}"
    return f"{equal} equal runs: fewer than {said} % of runs differ from these, at 95 % confidence"


def describe_misses(runs: int) -> str:
    """What goes unseen when so many runs agree.

    What shows in a share p of pairs is missed with probability (1 - p)**(runs - 1).
    """
    half, tenth = (100 * (1 - share) ** (runs - 1) for share in (0.5, 0.1))
    return (
        f"{runs} equal runs: a difference that shows in half of all pairs of runs is missed with a "
        f"probability of {half:.0f} %, one that shows in a tenth of them with {tenth:.0f} %; -n records more"
    )


def count_runs_needed(share: float) -> int:
    """How many equal runs make it unlikely (5 %) that what shows in this share of runs went unseen."""
    count = 1
    while (1 - share) ** count > 1 - LEVEL:
        count += 1
    return count
