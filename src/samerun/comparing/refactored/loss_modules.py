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
    """The names of its modules that are losses, by what was first said of each."""
    return frozenset(name for name, at in _find_first(trace).items() if trace.cell("detail", at) == A_LOSS)


def leave_out_lone(a: Trace, b: Trace) -> tuple[Trace, Trace]:
    """Both without the calls of those that only one of them has."""
    # Older runs do not say which of their modules are losses.
    one, other = find_losses(a) - _find_first(b).keys(), find_losses(b) - _find_first(a).keys()
    return _leave_out(a, one), _leave_out(b, other)


def find_calls(trace: Trace, names: Collection[str]) -> Bools:
    """bool[n]: the records of what goes into modules of these names and comes out."""
    words = {*names, *(f"{name}{_KEYWORDS}" for name in names)}
    return trace.is_one_of("what", _CALLS) & trace.is_one_of("name", words)


def _find_first(trace: Trace) -> dict[str, int]:
    """The first output of each module, by its name."""
    import numpy as np

    given = np.flatnonzero(trace.is_one_of("what", {"output"}))
    codes, first = np.unique(trace.codes("name")[given], return_index=True)
    found = zip(codes.tolist(), given[first].tolist(), strict=True)
    return {trace.words("name")[code]: at for code, at in found if code >= 0}


def _leave_out(trace: Trace, names: Collection[str]) -> Trace:
    if not names:
        return trace
    kept = columns.build_truths(~find_calls(trace, names))
    return replace(trace, table=trace.table.filter(kept).combine_chunks())
