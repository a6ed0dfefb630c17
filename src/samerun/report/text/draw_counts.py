"""Generators from which one run drew more numbers than the other, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from samerun.comparing.draw_ledger import DrawCount

_MOST = 3


def describe_draws(ledger: Sequence[DrawCount]) -> list[str]:
    """As in: run B drew one more number from python-random at augment.py:31, in step 3."""
    return [_write_sentence(item) for item in ledger if item.draws_a != item.draws_b][:_MOST]


def _write_sentence(item: DrawCount) -> str:
    more = item.draws_b - item.draws_a
    run, count = ("B", more) if more > 0 else ("A", -more)
    times = "one more number" if count == 1 else f"{count} more numbers"
    at = f" at {item.call_site}" if item.call_site else ""
    where = f"batch {item.step} of {item.process}" if ".worker" in item.process else f"step {item.step}"
    return f"run {run} drew {times} from {item.generator}{at}, in {where}"
