"""Kernels that were chosen by timing them: what both runs chose, side by side."""

from __future__ import annotations

from typing import NamedTuple

from samerun.digest import digest_bytes
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.sources.evidence import rows
from samerun.sources.source import Journal


class Choice(NamedTuple):
    """What was chosen for a kernel, and for what arguments of it."""

    kernel: str  # "triton.row_sum"
    config: str
    key: str = ""


def note(journal: Journal, choice: Choice) -> None:
    """Write a row of it."""
    journal.note(
        "timed",
        choice.kernel,
        digest=digest_bytes(choice.config.encode()),
        inputs=int.from_bytes(digest_bytes(choice.key.encode())[:8], "little"),
        detail=choice.config,
    )


def find_other(difference: Difference, prefix: str) -> tuple[Row, Row] | None:
    """The first kernel whose name begins so and of which the runs took another, for the same arguments."""
    for process, name, inputs in {
        (row.process, row.name, row.inputs): None
        for row in difference.a.rows("timed")
        if (row.name or "").startswith(prefix)
    }:
        a, b = (
            [row for row in side.rows("timed", name) if (row.process, row.inputs) == (process, inputs)]
            for side in (difference.a, difference.b)
        )
        for mine, other in zip(a, b, strict=False):
            if mine.digest != other.digest:
                return mine, other
    return None


def recognise(source: str, prefix: str, difference: Difference) -> Evidence | None:
    """Another choice, when the kernel itself, or nothing that another source sees, gave other bits."""
    origin = difference.origin
    if origin is not None and (origin.draws or not origin.inputs_equal):
        return None
    if rows.has_rng_difference(difference):
        return None
    found = find_other(difference, prefix)
    if found is None:
        return None
    mine, other = found
    kernel = (mine.name or "").partition(".")[2]
    text = f"the fastest {kernel} was {mine.detail} in one run, and {other.detail} in the other"
    is_it = origin is not None and origin.op.startswith(prefix)
    site = origin.call_site if origin is not None else mine.call_site
    return Evidence(source, Strength.SEEN if is_it else Strength.STRONG, text, site)
