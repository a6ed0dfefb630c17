from __future__ import annotations

from dataclasses import replace

import pytest

from samerun.explaining.explain import explain, leave_out, list_suspects
from samerun.runs.difference import Difference, Evidence, Row, Side
from samerun.sources.source import Source


class Sees(Source):
    summary = "sees what it is told"
    advice = "advice"
    kind = "order"

    def __init__(self, name: str, strength: float | None, site: str | None = None) -> None:
        self.id = name  # type: ignore[misc]  # one class stands for many sources
        self.strength = strength
        self.site = site

    def recognise(self, difference: Difference) -> Evidence | None:
        if self.strength is None:
            return None
        if self.strength < 0:
            raise KeyError("count")
        return Evidence(self.id, self.strength, "seen", self.site)


HERE = Difference(step=3, phase="data", what="batch")


def test_the_best_evidence_comes_first_and_ties_go_by_id() -> None:
    found, notes = explain(HERE, [Sees("b", 0.7), Sees("d", None), Sees("c", 1.0), Sees("a", 0.7)])
    assert [item.source for item in found] == ["c", "a", "b"]
    assert notes == []


def test_of_equal_evidence_that_of_another_program_comes_first() -> None:
    class Changed(Sees):
        def recognise(self, difference: Difference) -> Evidence | None:
            return replace(super().recognise(difference) or Evidence("", 0.0, ""), of_other_program=True)

    found, _ = explain(HERE, [Sees("a", 0.7), Changed("b", 0.7), Sees("c", 1.0)])
    assert [item.source for item in found] == ["c", "b", "a"]


def test_of_equal_evidence_that_of_the_differing_line_comes_first() -> None:
    here = Difference(step=0, phase="setup", what="operation", call_site="train.py:5")
    found, _ = explain(here, [Sees("a", 1.0, "train.py:9"), Sees("b", 1.0, "train.py:5"), Sees("c", 1.0)])
    assert [item.source for item in found] == ["b", "a", "c"]


def test_a_source_that_fails_is_named_and_does_not_hide_the_others() -> None:
    found, notes = explain(HERE, [Sees("bad", -1.0), Sees("good", 0.4)])
    assert [item.source for item in found] == ["good"]
    assert len(notes) == 1
    assert "bad" in notes[0]
    assert "KeyError" in notes[0]


def test_the_whole_catalogue_can_be_asked_about_a_bare_difference() -> None:
    assert explain(HERE)[1] == []


def test_suspects_are_rngs_that_part_and_are_drawn_from_and_are_not_known() -> None:
    difference = Difference(
        step=3,
        phase="data",
        what="batch",
        rng_first={"numpy-global": 2, "python-random": 0, "torch-cpu": 0, "torch-cuda": 0},
        drawn=frozenset({"numpy-global", "python-random", "torch-cpu"}),
    )
    found = list_suspects(difference, {"torch-cpu"})
    assert [(cause.source, cause.confirmed) for cause in found] == [
        ("python-random", False),
        ("numpy-global", False),
    ]
    assert "step 2" in found[1].evidence


@pytest.mark.parametrize(
    ("more", "tier", "listed"),
    [
        ([], "ops", ["torch-cpu"]),
        ([], "steps", ["python-random", "torch-cpu"]),
        (
            [Row(0, "setup", "draw", "python-random", call_site="train.py:1")],
            "ops",
            ["python-random", "torch-cpu"],
        ),
        ([Row(0, "setup", "draw", "numpy-global", call_site="train.py:1")], "ops", ["torch-cpu"]),
        ([Row(2, "data", "rng", "python-random")], "ops", ["python-random", "torch-cpu"]),
    ],
)
def test_what_an_import_alone_draws_from_is_no_suspect(more: list[Row], tier: str, listed: list[str]) -> None:
    """`import sklearn.datasets` draws from Python's random."""
    states = [Row(0, "setup", "rng", "python-random", digest=bytes([at] * 16)) for at in range(2)]
    side = Side(manifest={"tier": tier}, evidence=(*states, *more))
    both = ("python-random", "torch-cpu")
    here = replace(HERE, rng_first=dict.fromkeys(both, 0), drawn=frozenset(both), a=side, b=side)
    assert [cause.source for cause in list_suspects(here, set())] == listed


def test_without_a_generator_that_was_refuted_others_say_what_they_see() -> None:
    def side(digest: bytes) -> Side:
        draws = [
            Row(0, "data", "draw", name, digest=digest * 16, call_site=site)
            for name, site in (("python-random", "train.py:1"), ("numpy-global", "train.py:2"))
        ]
        return Side(settings={"hash-seed": {"PYTHONHASHSEED": None}}, evidence=tuple(draws))

    both = frozenset({"python-random", "numpy-global"})
    here = replace(HERE, rng_first=dict.fromkeys(both, 0), drawn=both, a=side(b"a"), b=side(b"b"))
    assert explain(here)[0][0].call_site == "train.py:1"
    fewer = leave_out(here, {"python-random"})
    assert [item.source for item in explain(fewer)[0]][:1] == ["numpy-global"]
    assert explain(fewer)[0][0].call_site == "train.py:2"
    named = {item.source for item in explain(leave_out(here, both))[0]}
    assert "hash-seed" in named and not both & named
