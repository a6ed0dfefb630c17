"""What a rerun says, and in which order."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from samerun.experiments.rerun.result import Parting, RerunResult, Unreplayed
from samerun.explaining.cause import Cause
from samerun.report.text.rerun import show

from ..results import DIFFERS, SAME, UNKNOWN

PARTED = (Parting("clock", "time.time", "train.py:9", "the recorded run did not ask for it"),)
UNREPLAYED = (
    Unreplayed(
        "process-id",
        tuple(("os.getpid", f"train.py:{line}") for line in range(3, 8)),
        "it cannot be replayed",
    ),
    Unreplayed("torch-cpu", (("its state differs", None),), "left out by --only or --except"),
)
RESULT = RerunResult(
    compared=SAME, of="20261101T120000Z-aaaa", given=("clock",), changed=(), parted=(), unreplayed=()
)


def shown(**changed: object) -> str:
    file = io.StringIO()
    show(replace(RESULT, **changed), Console(file=file, width=80, highlight=False, markup=False))
    return " ".join(file.getvalue().split())


def test_it_is_that_run_again() -> None:
    text = shown()
    assert text.startswith(
        "✓ same — this is the run 20261101T120000Z-aaaa again, bit for bit, to its end (2 "
    )
    assert "given what they gave then: clock" in text
    assert "Not given again" not in text and "printed" not in text


def test_what_had_no_effect_is_a_note() -> None:
    text = shown(parted=PARTED, unreplayed=UNREPLAYED[:1], printed_alike=False)
    assert "without effect here: clock (time.time at train.py:9): the recorded run did not ask for it" in text
    assert "it made no difference here: process-id (os.getpid at train.py:3, " in text
    assert "what the two printed differs" in text
    assert "Not given again" not in text and "cannot be replayed" not in text


def test_a_line_that_the_evidence_names_is_not_named_twice() -> None:
    uses = ("made of shuf at run.sh:6", "run.sh:6"), ("made of shuf at run.sh:60", "run.sh:6")
    made = Unreplayed("system-reads", uses, "it cannot be replayed")
    assert (
        "(made of shuf at run.sh:6, made of shuf at run.sh:60 at run.sh:6): it cannot be replayed"
        in shown(compared=DIFFERS, unreplayed=(made,))
    )


def test_what_changed_comes_first_then_what_was_not_given_then_the_difference() -> None:
    changed = (Cause("code", False, "", "train.py changed between the runs"),)
    text = shown(compared=DIFFERS, changed=changed, parted=PARTED, unreplayed=UNREPLAYED)
    assert text.startswith(
        "✗ differs — this is not the run 20261101T120000Z-aaaa again: the two diverge at st"
    )
    parts = [
        "Changed since that run code: train.py changed between the runs",
        "Not given again clock (time.time at train.py:9): the recorded run did not ask for it",
        "process-id (os.getpid at train.py:3, os.getpid at train.py:4, os.getpid at train.py:5 and 2 more): "
        "it cannot be replayed",
        "torch-cpu (its state differs): left out by --only or --except",
        "First difference",
        "samerun diff 20261101T120000Z-aaaa 20261101T120200Z-cccc",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, text
    assert places == sorted(places)


def test_what_cannot_be_told_says_why() -> None:
    text = shown(compared=UNKNOWN)
    assert text.startswith("? unknown — whether this is the run 20261101T120000Z-aaaa again: ")
    assert (UNKNOWN.reason or "?") in text


def test_text_of_a_run_is_made_safe() -> None:
    assert "\x1b" not in shown(compared=DIFFERS, parted=(Parting("clock", "\x1b[31m", None, "\x1b"),))
