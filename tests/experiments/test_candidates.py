"""The candidates for one difference, without a run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sources.mending import Program

from samerun.experiments.candidates import Candidates
from samerun.experiments.why import _can_be_controlled
from samerun.explaining.cause import cause_of
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
    search: Any = SimpleNamespace(
        controlled=frozenset,
        way=lambda source: "control",
        trials=SimpleNamespace(request=SimpleNamespace(control=None)),
    )
    closer: Any = SimpleNamespace()
    candidates = Candidates(search, closer, [], certain=True, to_the_end=False)
    assert candidates.can_try("threads") is tried
    assert candidates.can_try("clock")
    assert _can_be_controlled("threads", None) is tried
    assert _can_be_controlled("clock", None)


@pytest.mark.parametrize(
    ("other", "rivalled"),
    [
        (Evidence("hash-seed", 0.5, "a set of words", call_site="train.py:3"), True),
        (Evidence("hash-seed", 0.2, "a set of words", call_site="train.py:3"), False),  # hardly a candidate
        (Evidence("python-random", 0.5, "drawn from", call_site="train.py:5"), False),  # mends another line
    ],
    ids=["the-same-line", "weak", "another-line"],
)
def test_a_patch_whose_line_another_candidate_would_change_proves_neither(
    other: Evidence, rivalled: bool, tmp_path: Path
) -> None:
    difference = Program(tmp_path, TRAIN).difference()
    best = Evidence("memory-address", 0.6, "a set of objects", call_site="train.py:3")
    search: Any = SimpleNamespace(
        causes=[],
        trials=SimpleNamespace(request=SimpleNamespace(folder=tmp_path)),
        by_edit=lambda: frozenset(),
    )
    closer: Any = SimpleNamespace(difference=difference)
    candidates = Candidates(search, closer, [best, other], certain=True, to_the_end=False)
    made = patch([(difference, cause_of(best))], tmp_path, frozenset())
    assert made is not None
    assert "-unique = list(" in made.diff
    assert candidates._rivalled(best, made) is rivalled
