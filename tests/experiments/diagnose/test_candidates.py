"""The candidates for one difference, without a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sources.differences import ONE, TWO, batch, row
from sources.mending import Program

from samerun.comparing.comparison import Comparison, Scope
from samerun.experiments.check.confirm import _is_controllable
from samerun.experiments.diagnose.candidates import Candidates
from samerun.experiments.diagnose.controlled_runs import ControlledRuns, ProofRuns
from samerun.explaining.cause import Findings, make_cause
from samerun.explaining.patch import patch
from samerun.runs.difference import Evidence

TRAIN = """\
import random
pools = [[1, 2], [2, 3]]
unique = list({sample for pool in pools for sample in pool})
print(unique)
print(random.random())
"""


@pytest.mark.parametrize("own, tried", [("2", False), ("1", True), (None, True)])
def test_what_the_users_environment_contradicts_is_not_tried(own, tried, monkeypatch) -> None:
    """It was an error that ended the diagnosis."""
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if own is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", own)
    settled: Any = SimpleNamespace(
        controlled=frozenset,
        way=lambda source: "control",
        trials=SimpleNamespace(request=SimpleNamespace(control=None)),
    )
    closer: Any = SimpleNamespace()
    candidates = Candidates(settled, closer, [], certain=True, to_the_end=False)
    assert candidates.can_try("threads") is tried
    assert candidates.can_try("clock")
    assert _is_controllable("threads") is tried
    assert _is_controllable("clock")


@pytest.mark.parametrize(
    ("strength", "other", "rivalled"),
    [
        (0.6, Evidence("hash-seed", 0.5, "a set of words", call_site="train.py:3"), True),
        (0.6, Evidence("hash-seed", 0.2, "a set of words", call_site="train.py:3"), False),  # hardly one
        (0.6, Evidence("python-random", 0.5, "drawn from", call_site="train.py:5"), False),  # another line
        (1.0, Evidence("hash-seed", 0.5, "a set of words", call_site="train.py:3"), False),
        (1.0, Evidence("hash-seed", 1.0, "a set of words", call_site="train.py:3"), True),
        (1.0, Evidence("hash-seed", 0.5, "a set of words", call_site="train.py:4"), True),
    ],
    ids=["the-same-line", "weak", "another-line", "seen", "both-seen", "seen-elsewhere"],
)
def test_a_patch_whose_line_another_candidate_would_change_proves_neither(
    strength: float, other: Evidence, rivalled: bool, tmp_path: Path
) -> None:
    difference = Program(tmp_path, TRAIN).difference()
    best = Evidence("memory-address", strength, "a set of objects", call_site="train.py:3")
    ways = {"memory-address": "patch"}
    settled: Any = SimpleNamespace(
        causes=[],
        trials=SimpleNamespace(request=SimpleNamespace(folder=tmp_path)),
        by_edit=lambda: frozenset(),
        way=lambda source: ways.get(source, "control"),
    )
    closer: Any = SimpleNamespace(difference=difference)
    candidates = Candidates(settled, closer, [best, other], certain=True, to_the_end=False)
    made = patch([(difference, make_cause(best))], tmp_path, frozenset())
    assert made is not None
    assert "-unique = list(" in made.diff
    assert candidates._rivalled(best, made) is rivalled
    ways[other.source] = "patch"  # then no runs could tell them apart
    assert not candidates._rivalled(best, made)


SEEDED = """\
import os, time, torch
number = os.getpid()
moment = int(time.time())
torch.manual_seed(moment)
"""


@pytest.mark.parametrize(("words", "rivalled"), [("moment = ", False), ("number = ", True)])
def test_the_generator_that_a_clock_seeds_is_no_other_reason(
    words: str, rivalled: bool, tmp_path: Path
) -> None:
    """Where the line that both patches change reads the clock; elsewhere, that may have no part in it."""
    program = Program(tmp_path, SEEDED)
    seeds = row("seed", "torch.manual_seed", call_site=program.at("manual_seed"), digest=ONE)
    pair = seeds, replace(seeds, digest=TWO)
    best = Evidence("clock", 0.7, "read just before", call_site=program.at("moment = "))
    other = Evidence("torch-cpu", 0.4, "another seed in each run", call_site=program.at("manual_seed"))
    known = program.difference(row("clock", "time.time", call_site=program.at("moment = ")), pair)
    made = patch([(known, make_cause(best))], tmp_path, frozenset())
    assert made is not None and "-moment = int(time.time())" in made.diff
    settled: Any = SimpleNamespace(
        causes=[],
        trials=SimpleNamespace(request=SimpleNamespace(folder=tmp_path)),
        by_edit=lambda: frozenset(),
        way=lambda source: "control",
    )
    difference = program.difference(row("clock", "time.time", call_site=program.at(words)), pair)
    closer: Any = SimpleNamespace(difference=difference)
    candidates = Candidates(settled, closer, [best, other], certain=True, to_the_end=False)
    assert candidates._rivalled(best, made) is rivalled


def test_when_the_patch_for_the_best_candidate_does_not_help_the_next_has_its_turn(monkeypatch) -> None:
    best, other = Evidence("torch-cpu", 0.7, "drawn from"), Evidence("worker-arrival", 0.4, "as they come")
    where = batch()
    still = Comparison("differs", Scope(("a", "b")), difference=where)
    same = Comparison("same", Scope(("a", "b")))
    said = {"torch-cpu": still, "worker-arrival": same}
    candidates = Candidates(
        SimpleNamespace(), SimpleNamespace(difference=where), [best, other], certain=True, to_the_end=False
    )
    monkeypatch.setattr(candidates._replays, "refute", lambda source: None)
    monkeypatch.setattr(candidates, "_with_patch", lambda item: ProofRuns(said[item.source], (), None, True))
    findings = candidates.patched()
    assert findings is not None
    assert [cause.source for cause in findings.causes] == ["worker-arrival"]
    assert [cause.source for cause in findings.ruled_out] == ["torch-cpu"]
    assert candidates.in_turn() == [other, best]


def test_a_patch_with_which_the_code_fails_rules_nothing_out(monkeypatch) -> None:
    best, other = Evidence("torch-cpu", 0.7, "drawn from"), Evidence("worker-arrival", 0.4, "as they come")
    closer: Any = SimpleNamespace(difference=batch())
    settled: Any = SimpleNamespace()
    candidates = Candidates(settled, closer, [best, other], certain=True, to_the_end=False)
    unknown = Comparison("unknown", Scope(("a", "b")), "run 2 failed")
    monkeypatch.setattr(candidates._replays, "refute", lambda source: None)
    monkeypatch.setattr(candidates, "_with_patch", lambda item: ProofRuns(unknown, (), None, True))
    assert candidates.patched() is None
    assert candidates.in_turn() == [best, other]


def test_runs_that_had_exactly_the_patch_and_no_more_verify_it(tmp_path: Path) -> None:
    difference = Program(tmp_path, TRAIN).difference()
    cause = make_cause(
        Evidence("memory-address", 0.6, "a set of objects", call_site="train.py:3"), confirmed=True
    )
    made = patch([(difference, cause)], tmp_path, frozenset())
    assert made is not None
    request = SimpleNamespace(folder=tmp_path, control=None, scratch=False)
    trials: Any = SimpleNamespace(request=request)
    settled = ControlledRuns(trials, tmp_path)
    settled.causes = [(difference, cause)]
    settled.patched = [(difference, cause)]
    same = Comparison("same", Scope(("a", "b")))
    runs: Any = (SimpleNamespace(id="a"), SimpleNamespace(id="b"))
    proven = ProofRuns(same, runs, None, True, made)
    verified = settled.patch_of(proven)
    assert verified is not None and verified.verified
    assert (verified.diff, verified.runs) == (made.diff, ("a", "b"))
    assert settled.patch_of(replace(proven, whole=False)) is None
    assert settled.patch_of(replace(proven, comparison=replace(same, verdict="differs"))) is None
    assert settled.patch_of(replace(proven, patch=replace(made, files={"train.py": "other"}))) is None
    settled._controlled = ("clock",)  # the runs had a control beside it
    assert settled.patch_of(proven) is None


@pytest.mark.parametrize(
    ("agree", "left"), [(False, ["thread-scheduling"]), (True, ["thread-scheduling", "hash-seed"])]
)
def test_what_hardly_points_to_the_difference_goes_when_controlling_all_does_not_help(
    agree: bool, left: list[str], monkeypatch
) -> None:
    free, weak = Evidence("thread-scheduling", 0.5, "3 alive"), Evidence("hash-seed", 0.1, "not set")
    settled: Any = SimpleNamespace(
        controlled=frozenset,
        way=lambda source: "control" if source != "thread-scheduling" else "patch",
        trials=SimpleNamespace(request=SimpleNamespace(control=None)),
    )
    closer: Any = SimpleNamespace(difference=batch())
    candidates = Candidates(settled, closer, [free, weak], certain=True, to_the_end=False)
    assert not candidates.can_try_alone("hash-seed")
    later = replace(batch(), step=9)
    said = (
        Comparison("same", Scope(("a", "b")))
        if agree
        else Comparison("differs", Scope(("a", "b")), difference=later)
    )
    asked: list[tuple[int, int | None]] = []

    def record(sources: Any, count: int, stop: int | None) -> ProofRuns:
        asked.append((count, stop))
        return ProofRuns(said, (), None, True)

    monkeypatch.setattr(candidates, "_record", record)
    monkeypatch.setattr(
        "samerun.experiments.diagnose.candidates.find_smallest", lambda ids, does, fail_alone: ids[:1]
    )
    monkeypatch.setattr(candidates, "_is_sure", lambda needed: False)
    causes = tuple(map(make_cause, (free, weak)))
    found = candidates.everything(Findings(causes))
    assert [cause.source for cause in found.causes] == left
    assert asked[0] == (6, None)  # parting later is luck, too
    assert any("with every controllable source controlled" in note for note in found.notes) is not agree
