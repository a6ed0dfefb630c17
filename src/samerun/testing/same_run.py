"""A function gives the same bits each time."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from samerun.controls import control
from samerun.errors import UsageError
from samerun.ranks.named_digests import find_first_difference, list_entries
from samerun.runs.plan import Mode
from samerun.testing.describe import describe_difference


def assert_same_run(fn: Callable[[], Any], *, runs: int = 2, seed: int = 0, mode: Mode = "strict") -> None:
    """Call `fn` several times under control with the same seed, and compare what it returns bit for bit.

    It returns what a run of yours comes to: losses, tensors, arrays, a module, anything with `state_dict()`,
    or these nested in mappings and lists. Raises AssertionError naming the first entry that differs, and
    UsageError when there is nothing in it that can be compared.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    if operator.index(runs) < 2:
        raise UsageError(f"at least 2 runs are needed to compare, not {runs}")
    first = None
    for run in range(1, runs + 1):
        with control(seed, mode=mode):
            value = fn()
            found = list_entries(value)
        if all(entry.empty for entry in found):
            raise UsageError(
                "fn returned nothing to compare; return the losses, the model or its state_dict()"
            )
        if first is None:
            first = found
        difference = find_first_difference(first, found)
        if difference is not None:
            where = describe_difference(difference, "run 1", f"run {run}")
            raise AssertionError(f"{runs} runs are not the same (seed {seed}, mode {mode}): {where}")
