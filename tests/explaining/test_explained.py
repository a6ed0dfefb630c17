"""A difference with its evidence: the sources are asked once, and what is asked of it follows from that."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sources.differences import batch

from samerun.explaining import explained as module
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference, Evidence

RACE = Evidence("thread-scheduling", 0.7, "3 threads ran at once")
DRAWN = Evidence("torch-cpu", 0.4, "drawn from")
WEAK = Evidence("hash-seed", 0.2, "not set")


def of(monkeypatch: pytest.MonkeyPatch, *evidence: Evidence, notes: tuple[str, ...] = ()) -> Explained:
    monkeypatch.setattr(module, "explain", lambda difference: (list(evidence), list(notes)))
    return Explained(batch())


def test_the_sources_are_asked_once_and_only_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Difference] = []
    monkeypatch.setattr(module, "explain", lambda difference: asked.append(difference) or ([DRAWN], ["odd"]))
    explained = Explained(batch())
    assert not asked
    assert (explained.best, explained.notes) == (DRAWN, ("odd",))
    assert not (explained.is_seen or explained.is_plain or explained.is_beyond_control or explained.is_race)
    assert not explained.points_elsewhere([DRAWN])
    assert [cause.source for cause in explained.unproved().causes] == ["torch-cpu"]
    assert asked == [explained.difference]
    assert explained.without(()) is explained


def test_nothing_recognised_is_nothing_of_all_this(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = of(monkeypatch)
    assert explained.best is None
    assert not (explained.is_seen or explained.is_plain or explained.is_beyond_control or explained.is_race)


@pytest.mark.parametrize("strength, seen", [(1.0, True), (0.7, False)])
def test_seen_is_what_the_best_evidence_says_directly(
    strength: float, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of(monkeypatch, replace(DRAWN, strength=strength), WEAK).is_seen is seen


def test_only_the_best_evidence_can_be_beyond_control(monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = replace(WEAK, beyond_control=True)
    assert of(monkeypatch, beyond, DRAWN).is_beyond_control
    assert not of(monkeypatch, DRAWN, beyond).is_beyond_control


def test_a_race_is_all_that_points_to_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(monkeypatch, RACE, WEAK).is_race
    assert not of(monkeypatch, RACE, DRAWN).is_race
    assert not of(monkeypatch, replace(RACE, strength=0.2)).is_race
    assert not of(monkeypatch, DRAWN).is_race  # it has a control


def test_it_points_elsewhere_when_a_source_is_not_among_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = of(monkeypatch, RACE, DRAWN)
    assert explained.points_elsewhere([DRAWN])
    assert not explained.points_elsewhere([DRAWN, RACE, WEAK])


def test_without_a_generator_its_draws_are_gone() -> None:
    explained = Explained(replace(batch(), drawn=frozenset({"torch-cpu", "numpy-global"})))
    assert explained.without({"torch-cpu"}).difference.drawn == {"numpy-global"}
