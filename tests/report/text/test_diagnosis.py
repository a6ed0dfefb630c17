"""Covers `draw_counts.py` and `replayed_operation.py`."""

from __future__ import annotations

import io
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from samerun.comparing.draw_ledger import DrawCount
from samerun.comparing.growth import Distance, Growth
from samerun.comparing.replayed_operation import Replay, Way
from samerun.experiments.diagnose.result import Diagnosis, FirstDifference, Proof
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch
from samerun.report.text import diagnosis as report

from ..results import DIFFERS, SAME

assert DIFFERS.difference is not None and DIFFERS.pair is not None
FOUND = FirstDifference(
    DIFFERS.difference,
    DIFFERS.pair,
    DIFFERS.causes,
    Proof(("c", "d"), ("python-random",), "control", None, 30),
    growth=Growth(
        (Distance(7, 1, 4, 1e-7, 1.0, 1.0, 1, 100, 100), Distance(11, 4, 4, 1e-3, 512.0, 8.0, 90, 100, 100)),
        alive=True,
        reached_weights_at=7,
    ),
    ledger=(DrawCount("python-random", 7, "rank0", "augment.py:31", "random.random", 4, 5, False, True),),
)
PATCH = Patch(
    "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-x\n+y\n", {"train.py": "y\n"}, {}, True, ("e", "f")
)
WHOLE = Diagnosis(DIFFERS, (FOUND,), True, PATCH, "2 equal runs", 6)


def shown(diagnosis: Diagnosis, patch_file: str | None = None, colour: bool = False) -> str:
    out = io.StringIO()
    report.show(diagnosis, Console(file=out, width=100, force_terminal=colour, highlight=False), patch_file)
    return out.getvalue()


def test_what_was_ruled_out_says_how_far_its_control_goes() -> None:
    ruled_out = tuple(Cause(source, False, "", "it was read") for source in ("clock", "torch-cpu", "unknown"))
    text = " ".join(shown(replace(WHOLE, found=(replace(FOUND, ruled_out=ruled_out),))).split())
    said = "the runs still diverge there with {} controlled"
    assert f"clock: {said.format('what your own code reads of it')}" in text
    assert f"torch-cpu: {said.format('it')}" in text and f"unknown: {said.format('it')}" in text


def test_each_cause_comes_with_its_proof_what_was_seen_and_the_patch() -> None:
    text = shown(WHOLE)
    assert text.startswith("✗ differs — one reason: python-random; with it controlled, the runs agree\n")
    assert "1. python-random at step 7, in data" in text
    assert "with python-random controlled, 2 further runs agree to their end (30 steps)" in text
    assert "run B made one more draw from python-random at augment.py:31, in step 7" in text
    more = (*FOUND.ledger, replace(FOUND.ledger[0], function="random.gauss", draws_a=0, draws_b=1))
    both = replace(WHOLE, found=(replace(FOUND, ledger=more),))
    assert "run B made 2 more draws from python-random at augment.py:31, in step 7" in shown(both)
    assert "in the median by 1 ulp after step 7, by 8 ulps after step 11" in " ".join(text.split())
    assert "Patch (the patched code was run 2 times: same)" in text
    assert "\n  +y\n" in text
    assert "6 runs recorded" in text


def test_what_came_of_running_the_operation_alone_is_said_way_by_way() -> None:
    ways = (
        Way("as it is", 10, 5, 2),
        Way("1 thread", 1, 1, 0),
        Way("deterministic", 0, 0, 0, "not implemented"),
    )
    probed = Replay("aten.put_.default", 7, "forward", None, "train.py:3", ways, "one process was lost")
    lines = [
        line.strip() for line in shown(replace(WHOLE, found=(replace(FOUND, alone=probed),))).splitlines()
    ]
    assert "alone     aten.put_.default on the same inputs gave" in lines
    assert "as it is: 5 results in 10 runs" in lines
    assert "1 thread: 1 result in 1 run, never that of the training" in lines
    assert "deterministic: not implemented" in lines
    assert "one process was lost" in lines
    nothing = replace(WHOLE, found=(replace(FOUND, alone=replace(probed, ways=(), why="too large")),))
    assert "aten.put_.default could not be run again alone: too large" in shown(nothing)


def test_what_is_not_proved_is_not_said_to_be() -> None:
    doubtful = replace(FOUND, causes=(replace(DIFFERS.causes[0], confirmed=False),), proof=None)
    text = shown(replace(WHOLE, found=(doubtful,), complete=False, patch=None))
    assert "no source was proved to be the reason" in text
    assert "1. not proved at step 7" in text
    assert "python-random: its state differs before the first draw" in text
    assert "(not confirmed)" in text
    assert "proof" not in text
    assert "Patch" not in text


def test_an_incomplete_search_says_so() -> None:
    assert "one reason: python-random; that is not all of it" in shown(replace(WHOLE, complete=False))


def test_no_source_at_all_is_said_plainly() -> None:
    text = shown(replace(WHOLE, found=(replace(FOUND, causes=(), proof=None),), complete=False, patch=None))
    assert "no source of the catalogue explains it" in text


def test_a_patch_that_does_not_mend_is_not_shown_and_what_no_edit_mends_is() -> None:
    text = shown(replace(WHOLE, patch=Patch("", {}, {"hash-seed": "start with PYTHONHASHSEED=0"}, False)))
    assert "none: the edits that were tried do not fix it" in text
    assert "no edit   hash-seed: start with PYTHONHASHSEED=0" in text


def test_edits_that_are_not_enough_are_told_from_a_patch() -> None:
    half = Patch("", {}, {"clock": "end loops after a number of steps"}, partial=PATCH.diff)
    text = shown(replace(WHOLE, patch=half))
    assert "Edits (not enough by themselves, and not tried)" in text
    assert "\n  +y\n" in text and "Patch (" not in text and "--patch" not in text


def test_the_patch_file_is_named_where_there_is_one() -> None:
    assert "written to fix.patch" in shown(WHOLE, "fix.patch")
    assert "patch -p1 < fix.patch" in shown(WHOLE, "fix.patch")
    assert "samerun diagnose --patch fix.patch -- python train.py" in shown(WHOLE)


def test_the_patch_that_was_kept_is_applied_without_another_diagnosis(tmp_path: Path) -> None:
    kept = tmp_path / SAME.runs[0] / "fix.patch"
    kept.parent.mkdir()
    kept.write_text("")
    assert WHOLE.check.runs[0] == SAME.runs[0]
    text = shown(replace(WHOLE, check=replace(WHOLE.check, place=str(tmp_path))))
    assert f"patch -p1 < {kept}" in text.replace("\n", "") and "--patch" not in text


def test_a_healed_difference_is_told_apart_from_one_that_lives() -> None:
    assert FOUND.growth is not None
    healed = replace(FOUND.growth, alive=False, reached_weights_at=None, healed_at=9)
    text = shown(replace(WHOLE, found=(replace(FOUND, growth=healed),)))
    assert "never reaches the weights, and is gone from step 9 on" in text


def test_the_same_says_what_so_many_runs_prove() -> None:
    text = shown(Diagnosis(SAME, confidence="2 equal runs: fewer than 78 %"))
    assert text.startswith("✓ same")
    assert "2 equal runs: fewer than 78 %" in text


def test_what_a_run_says_cannot_act_on_the_terminal() -> None:
    hostile = replace(DIFFERS.causes[0], evidence="\x1b[2J[bold]gone[/bold]")
    text = shown(replace(WHOLE, found=(replace(FOUND, causes=(hostile,)),)), colour=True)
    assert "\x1b[2J" not in text
    assert "[bold]gone[/bold]" in text


@pytest.mark.parametrize(
    ("source", "complete", "command"),
    [
        ("python-random", True, "samerun run --"),
        ("clock", True, "samerun run --control clock --"),
        ("memory-address", True, None),  # nothing controls it
        ("python-random", False, None),  # there is more that differs
    ],
)
def test_running_under_control_is_offered_where_that_mends_it(
    source: str, complete: bool, command: str | None
) -> None:
    cause = replace(FOUND.causes[0], source=source, confirmed=True)
    text = shown(replace(WHOLE, found=(replace(FOUND, causes=(cause,)),), complete=complete))
    offered = [line.strip() for line in text.splitlines() if line.startswith("  samerun run ")]
    assert offered == ([] if command is None else [f"{command} {shlex.join(DIFFERS.command)}"])
    assert ("repeatable without an edit" in text) is (command is not None)
