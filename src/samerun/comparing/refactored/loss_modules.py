"""Losses that are modules: a function of torch's may stand in their place, and moves no bit.

What goes into one and comes out is recorded as of any model. Where only one of two runs has it, that is no
difference: the loss itself is compared where its gradients begin, and what it was made of where that is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from samerun.runs import columns
from samerun.runs.reading import Trace
from samerun.runs.schema import A_LOSS

if TYPE_CHECKING:
    from samerun.runs.reading import Bools

_CALLS = frozenset({"input", "output"})
_KEYWORDS = "(…)"  # what follows the name where something is given by name


def find_losses(trace: Trace) -> frozenset[str]:
    """The names of its modules that are losses."""
    rows = trace.rows(trace.is_one_of("what", {"output"}))
    return frozenset(row.name for row in rows if row.detail == A_LOSS and row.name is not None)


def leave_out_lone(a: Trace, b: Trace) -> tuple[Trace, Trace]:
    """Both without the calls of those that only one of them has."""
    one, other = find_losses(a), find_losses(b)
    return _without(a, one - other), _without(b, other - one)


def find_calls(trace: Trace, names: Collection[str]) -> Bools:
    """bool[n]: the records of what goes into modules of these names and comes out."""
    words = {*names, *(f"{name}{_KEYWORDS}" for name in names)}
    return trace.is_one_of("what", _CALLS) & trace.is_one_of("name", words)


def _without(trace: Trace, names: Collection[str]) -> Trace:
    if not names:
        return trace
    kept = columns.build_truths(~find_calls(trace, names))
    return replace(trace, table=trace.table.filter(kept).combine_chunks())
