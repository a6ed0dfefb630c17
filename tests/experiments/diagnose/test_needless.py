"""Covers `needless.py`: only what nothing controls in runs that agree is without effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from samerun.experiments.diagnose.needless import leave_out
from samerun.experiments.diagnose.result import FirstDifference
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch
from samerun.runs.difference import Difference


class Settled:
    """Runs that agree in whatever is left free."""

    def __init__(self, diff: str | None) -> None:
        self.patch = None if diff is None else Patch(diff, {}, {})
        self.freed: set[str] = set()

    def way(self, source: str) -> str:
        return "control"

    def control(self, without: set[str]) -> None:
        return None

    @contextlib.contextmanager
    def prepared(self) -> Iterator[Any]:
        yield SimpleNamespace(at=Path(), patch=self.patch)

    def further(self, *asked: Any) -> Any:
        return SimpleNamespace(comparison=SimpleNamespace(verdict="same"))

    def free(self, sources: set[str]) -> None:
        self.freed |= sources


def found(source: str, phase: str = "setup") -> FirstDifference:
    difference = Difference(0, phase, "operation", name="aten.rand.default", call_site="train.py:3")
    cause = Cause(source, True, "", "")
    return FirstDifference(difference, ("a", "b"), (cause,), None)


@pytest.mark.parametrize(
    ("diff", "left"),
    [
        (None, ["clock"]),
        ("+++ b/train.py\n+rng = np.random.default_rng(0)\n", ["clock"]),
        ("+++ b/train.py\n+np.random.seed(0)\n", ["numpy-global", "clock"]),
        ("+++ b/train.py\n-np.random.seed(0)\n", ["clock"]),
    ],
)
def test_edits_for_another_reason_that_seed_it_too_say_nothing_of_it(
    diff: str | None, left: list[str]
) -> None:
    settled: Any = Settled(diff)
    kept = leave_out(settled, [found("numpy-global"), found("clock", "data")])
    assert [item.causes[0].source for item in kept] == left
    assert ("numpy-global" in settled.freed) is ("numpy-global" not in left)
