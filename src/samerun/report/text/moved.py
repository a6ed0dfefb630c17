"""A digest that moved, in words."""

from __future__ import annotations

from samerun.experiments.lock.moved import Moved

_KINDS = {"metrics": "metric", "files": "file", "written": "value", "printed": "printed line"}


def describe_moved(moved: Moved) -> str:
    """ "gradients, first in step 4 (equal in step 2)"."""
    kind, _, name = moved.quantity.partition(".")
    if name:
        return f"{_KINDS[kind]} {name}"
    if moved.step is None:
        return f"{moved.quantity}, in a step that the lock does not hold by itself"
    if moved.exact:
        return f"{moved.quantity}, first in step {moved.step}"
    equal = "" if moved.after is None else f" (equal in step {moved.after}; the steps between are not held)"
    return f"{moved.quantity}, in step {moved.step}{equal if (moved.after or 0) + 1 < moved.step else ''}"
