"""Generators from which one run drew more often than the other, as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.draw_ledger import DrawCount

_MOST = 3


def describe_draws(ledger: Sequence[DrawCount]) -> list[str]:
    """As in: run B made one more draw from python-random at augment.py:31, in step 3.

    Whatever functions a line calls for it.
    """
    lines: dict[tuple[str | int | None, ...], DrawCount] = {}
    for item in ledger:
        key = item.generator, item.call_site, item.step, item.process
        before = lines.get(key)
        if before is not None:
            item = replace(item, draws_a=before.draws_a + item.draws_a, draws_b=before.draws_b + item.draws_b)
        lines[key] = item
    return [_write_sentence(item) for item in lines.values() if item.draws_a != item.draws_b][:_MOST]


def _write_sentence(item: DrawCount) -> str:
    more = item.draws_b - item.draws_a
    run, count = ("B", more) if more > 0 else ("A", -more)
    times = "one more draw" if count == 1 else f"{count} more draws"
    at = f" at {item.call_site}" if item.call_site else ""
    where = f"batch {item.step} of {item.process}" if ".worker" in item.process else f"step {item.step}"
    return f"run {run} made {times} from {item.generator}{at}, in {where}"
