"""What a verify says, and in which order. Covers `moved.py`."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from samerun.experiments.lock.moved import Moved
from samerun.experiments.verify.changed import Changed
from samerun.experiments.verify.result import Distance, VerifyResult
from samerun.report.text.moved import describe_moved
from samerun.report.text.verify import describe_changed, show

from ..results import DIFFERS

RESULT = VerifyResult(
    "same",
    "samerun.lock",
    run="20261101T120000.000Z-aaaaaa",
    place=".samerun/runs",
    environment="1234abcd",
    locked_environment="1234abcd",
    steps=90,
    quantities=("gradients", "loss"),
)
MOVED = (Moved("gradients", 4, 2), Moved("metrics.accuracy"))


def shown(**changed: object) -> str:
    file = io.StringIO()
    show(replace(RESULT, **changed), Console(file=file, width=80, highlight=False, markup=False))
    return " ".join(file.getvalue().split())


def test_the_same_names_what_was_compared_and_where() -> None:
    assert shown().startswith("✓ same bits — 90 steps: gradients, loss; environment 1234abcd Run in")
    some = shown(steps=5, at=(0, 1, 2, 4), locked_environment="5678abcd")
    assert "steps 0, 1, 2, 4 of the first 5: gradients" in some and "as locked on 5678abcd" in some


def test_what_changed_without_effect_is_said() -> None:
    text = shown(changed=(Changed("package", "numpy", "numpy: 2.4 → 2.5"),))
    assert "Changed since the lock, without effect on what the lock holds package: numpy: 2.4 → 2.5" in text


def test_a_difference_says_where_then_what_changed_then_how_to_go_on() -> None:
    changed = (Changed("code", "train.py", "lr=0.1 → lr=0.2", "train.py:6"),)
    text = shown(verdict="differs", moved=MOVED, changed=changed)
    assert text.startswith("✗ differs — gradients, in step 4 (equal in step 2;")
    order = ["Moved", "metric accuracy", "Changed since the lock", "train.py:6: lr=0.1", "lock --update"]
    assert [text.index(word) for word in order] == sorted(text.index(word) for word in order)


def test_where_nothing_changed_the_two_runs_tell_the_cause() -> None:
    text = shown(verdict="differs", moved=MOVED, compared=DIFFERS)
    assert (
        "First difference (run A is the locked one)" in text and "Cause" in text and "samerun diff " in text
    )
    alone = shown(verdict="differs", moved=MOVED, command=("python", "train.py"))
    assert "samerun check --controlled -- python train.py" in alone
    changed = (Changed("code", "train.py", "lr=0.1 → lr=0.2", "train.py:6"),)
    likely = replace(DIFFERS, causes=tuple(replace(item, confirmed=False) for item in DIFFERS.causes))
    text = shown(verdict="differs", moved=MOVED, compared=likely, changed=changed)
    assert "Cause" not in text and "Likely cause:" not in text
    assert "Changed since the lock (likely the cause, not confirmed)" in text
    assert "Cause" in shown(verdict="differs", moved=MOVED, compared=DIFFERS, changed=changed)
    proved = (replace(changed[0], confirmed=True),)
    text = shown(verdict="differs", moved=MOVED, compared=DIFFERS, changed=proved)
    assert "Cause" not in text and "Changed since the lock code: train.py:6" in text
    assert "lr=0.2 (confirmed: with it as locked, a run gives the locked bits)" in text


def test_what_was_put_back_is_said_and_what_was_ruled_out() -> None:
    changed = (
        Changed("code", "a.py", "lr=0.1 → lr=0.2, and 3 more places", "a.py:6", confirmed=True, places=4),
        Changed("code", "b.py", "b.py is no longer used", confirmed=True),
        Changed("code", "c.py", "c.py is new"),
        Changed("variable", "TZ", "TZ: not set → UTC", confirmed=True),
        Changed("variable", "LANG", "LANG: C → en", ruled_out=True),
    )
    proof = " (confirmed: with these 6 changes as locked, a run gives the locked bits)"
    assert describe_changed(changed) == [
        f"code: a.py:6: lr=0.1 → lr=0.2, and 3 more places{proof}",
        f"code: b.py is no longer used{proof}",
        "code: c.py is new",
        f"variable: TZ: not set → UTC{proof}",
        "variable: LANG: C → en (ruled out: with it as locked, a run gives the same bits as without)",
    ]
    text = shown(verdict="differs", moved=MOVED, changed=changed[4:])
    assert "Changed since the lock variable" in text and "likely" not in text


def test_a_training_that_does_not_repeat_shows_where_its_own_runs_part() -> None:
    text = shown(verdict="differs", moved=MOVED, compared=DIFFERS, unsteady=DIFFERS)
    assert text.count("Cause: python-random (confirmed") == 1
    assert text.index("It does not repeat: two runs of now") < text.index("Cause: python-random")


def test_within_says_how_far_off_beside_the_bound() -> None:
    found = (Distance("loss", 2e-7, 1e-6),)
    text = shown(verdict="within", moved=MOVED, distances=found, factors=("threads: 1 thread",), exact=True)
    assert text.startswith("≈ within the bounds — same data, code and draws; loss is 2e-07 off, bound 1e-06;")
    assert "measured with threads: 1 thread" in text and "--exact: within the bounds is not enough" in text
    far = shown(verdict="differs", moved=MOVED, distances=(Distance("loss", 2e-5, 1e-6),))
    assert "loss is 2e-05 off, beyond the bound 1e-06" in far


def test_unknown_and_stale_say_why() -> None:
    text = shown(verdict="unknown", moved=MOVED, reason="another class of machine: x")
    assert text.startswith("? unknown — its bits are not the locked ones, and need not be: another class")
    assert "samerun verify --add" in text
    failed = shown(verdict="unknown", reason="the command failed", output=("Traceback",))
    assert "? unknown — the command failed" in failed and "Traceback" in failed
    assert shown(verdict="stale", run=None, reason="the command is not the locked one").startswith(
        "! stale — the command is not the locked one Next"
    )
    text = shown(verdict="stale", run=None, update=("samerun", "lock", "--update", "--", "python", "a b.py"))
    assert text.endswith("reports which digests moved samerun lock --update -- python 'a b.py'")


def test_what_a_stranger_wrote_does_not_act_on_the_terminal() -> None:
    text = shown(
        verdict="differs", moved=(Moved("\x1b[2Jloss"),), changed=(Changed("input", "", "\x1b[31m<b>"),)
    )
    assert "\x1b" not in text and "<b>" in text


@pytest.mark.parametrize(
    "moved, said",
    [
        (Moved("loss", 4, 3, True), "loss, first in step 4"),
        (Moved("loss", 4, 3), "loss, in step 4"),
        (Moved("loss", 0), "loss, in step 0"),
        (Moved("loss", 8, 4), "loss, in step 8 (equal in step 4; the steps between are not held)"),
        (Moved("loss"), "loss, in a step that the lock does not hold by itself"),
        (Moved("files.model.pt"), "file model.pt"),
    ],
)
def test_a_moved_digest_in_words(moved: Moved, said: str) -> None:
    assert describe_moved(moved) == said
