"""Which runs prove a cause, where it was seen and where it was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from samerun.comparing.comparison import Comparison, Scope
from samerun.experiments.check.confirm import Proof, explain_and_confirm
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference, Evidence, Origin, Strength
from samerun.runs.plan import Plan

HERE = Difference(step=0, phase="setup", what="operation", name="aten.lift_fresh", call_site="train.py:9")
SAME = Comparison("same", Scope(("a", "b")))
STILL = Comparison("differs", Scope(("a", "b")), difference=HERE)


@dataclass
class Repeated:
    """A recorded run that others go on as, or do not; keeps how many were asked for."""

    _name: str
    _agrees: bool
    _made: list[tuple[str, int]]
    plan: Plan = field(default_factory=Plan)

    def can_give(self, sources: Sequence[str]) -> bool:
        return True

    def repeat(self, trials: Any, stage: str, sources: Any, count: int, **more: Any) -> Comparison:
        self._made.append((self._name, count))
        return SAME if self._agrees else STILL


@pytest.mark.parametrize(
    ("strength", "first", "second", "confirmed", "made"),
    [
        (Strength.SEEN, True, False, True, [("A", 1)]),  # it was seen: one run is proof
        (Strength.PLAUSIBLE, True, True, True, [("A", 1), ("B", 1)]),
        (Strength.PLAUSIBLE, True, False, False, [("A", 1), ("B", 1)]),  # as A by luck: it is rare
        (Strength.PLAUSIBLE, False, True, False, [("A", 1)]),
    ],
)
def test_what_was_not_seen_must_give_both_runs_back(
    strength: Strength, first: bool, second: bool, confirmed: bool, made: list[tuple[str, int]]
) -> None:
    done: list[tuple[str, int]] = []
    a, b = Repeated("A", first, done), Repeated("B", second, done)
    trials = SimpleNamespace(
        recorded={}, compare=lambda *args, **kwargs: pytest.fail("nothing is controlled")
    )
    explained = Explained(HERE)
    found = Evidence("hash-seed", strength, "a set is gone through", "train.py:8")
    explained.__dict__["_answers"] = SimpleNamespace(evidence=(found,), notes=())
    proof = Proof(cast(Any, trials), Plan(), (), cast(Any, a), second=cast(Any, b))
    findings = explain_and_confirm(explained, proof)
    assert any(cause.confirmed for cause in findings.causes) is confirmed
    assert done == made


@pytest.mark.parametrize(("other", "confirmed"), [(True, True), (False, False)])
def test_what_hardly_anything_points_to_must_give_the_other_run_back_as_well(
    other: bool, confirmed: bool
) -> None:
    """What races may be the likely one of two ways in each run that is given anything, and in run A."""
    done: list[tuple[str, int]] = []
    a, b = Repeated("A", True, done), Repeated("B", other, done)
    explained = Explained(HERE)
    found = Evidence("hash-seed", Strength.REMOTE, "a library may", None)
    explained.__dict__["_answers"] = SimpleNamespace(evidence=(found,), notes=())
    trials = SimpleNamespace(recorded={})
    proof = Proof(cast(Any, trials), Plan(), (), cast(Any, a), other=cast(Any, b))
    findings = explain_and_confirm(explained, proof)
    assert any(cause.confirmed for cause in findings.causes) is confirmed
    assert done == [("A", 2), ("A", 5), ("B", 2)]


@pytest.mark.parametrize(
    ("inputs", "generator", "to_the_end"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_where_one_of_a_few_sizes_is_drawn_whole_runs_prove_a_cause(
    inputs: bool, generator: bool, to_the_end: bool
) -> None:
    """They may draw the same size by chance, and part at the next one."""
    drawn = Origin("aten.uniform_", None, "train.py:9", "setup", inputs, True, generator, False, False)
    here = replace(HERE, origin=drawn)
    later = Comparison("differs", Scope(("a", "b")), difference=replace(here, step=1))

    class Later(Repeated):
        def repeat(self, *args: Any, **kwargs: Any) -> Comparison:
            return later

    explained = Explained(here)
    found = Evidence("os-entropy", Strength.SEEN, "it was read", "train.py:8")
    explained.__dict__["_answers"] = SimpleNamespace(evidence=(found,), notes=())
    trials = SimpleNamespace(recorded={}, compare=lambda *args, **kwargs: later)
    recorded = Later("A", False, [])
    findings = explain_and_confirm(explained, Proof(cast(Any, trials), Plan(), (), cast(Any, recorded)))
    assert any(cause.confirmed for cause in findings.causes) is not to_the_end
