"""What is offered as a patch: all that is needed, or nothing.

Covers `edited_copy.py`.
"""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from samerun.report.text.diagnosis import show

from ..scripts import Script
from .test_diagnose import diagnosed, sources


def test_edits_that_are_not_enough_are_no_patch(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",), from_step={"clock": 2})
    diagnosis = diagnosed(script, tmp_path)
    patch = diagnosis.patch
    assert diagnosis.complete and patch is not None
    assert (patch.diff, patch.files, patch.verified) == ("", {}, None)
    assert "+torch.manual_seed(0)" in patch.partial
    assert list(patch.cannot) == ["clock"]
    assert diagnosis.to_json()["patch"]["partial"] == patch.partial


def test_what_a_control_reached_and_its_edit_does_not_comes_to_light_in_the_patched_code(
    tmp_path: Path,
) -> None:
    script = Script(init=("torch-cpu",), batches=("python-random",), reaches={"torch-cpu": "python-random"})
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["torch-cpu"], ["python-random"]]
    later = diagnosis.found[1]
    assert (later.difference.step, later.difference.what) == (0, "batch")
    assert later.proof is not None and later.proof.way == "patch" and later.proof.agree_until is None
    patch = diagnosis.patch
    assert patch is not None and patch.verified and patch.runs == later.proof.runs
    assert "+torch.manual_seed(0)" in patch.diff and "+random.seed(0)" in patch.diff


def test_where_every_cause_has_an_edit_the_patch_is_whole(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",), from_step={"python-random": 2})
    patch = diagnosed(script, tmp_path).patch
    assert patch is not None and patch.verified and not patch.partial
    assert "+torch.manual_seed(0)" in patch.diff and "+random.seed(0)" in patch.diff


def test_a_patch_that_cannot_be_tried_since_copies_fail_says_so(tmp_path: Path) -> None:
    """As where a script reads a file that no copy has; runs 3 and 4, and 7 and 8, are of the patched code."""
    crashes = dict.fromkeys((3, 4, 7, 8), 0)
    diagnosis = diagnosed(Script(init=("torch-cpu",), crashes=crashes), tmp_path)
    patch = diagnosis.patch
    assert sources(diagnosis) == [["torch-cpu"]]
    assert patch is not None and (patch.diff, patch.verified) == ("", None)
    assert "does in a copy of the folder (see run " in patch.cannot["torch-cpu"]
    shown = io.StringIO()
    show(diagnosis, Console(file=shown, width=200))
    assert "do not fix it" not in shown.getvalue()
    assert "torch-cpu: the code with an edit fails" in shown.getvalue()


def test_where_threads_race_a_patch_is_tried_in_more_runs(tmp_path: Path) -> None:
    patch = diagnosed(Script(init=("torch-cpu",), arrivals="a" * 12), tmp_path).patch
    assert patch is not None and patch.verified and len(patch.runs) == 4


def test_edits_after_which_runs_differ_later_are_shown_and_are_no_patch(tmp_path: Path) -> None:
    """The two runs that proved it had their batches in the same order."""
    diagnosis = diagnosed(Script(init=("torch-cpu",), arrivals="aaaaaaaba"), tmp_path)
    patch = diagnosis.patch
    assert sources(diagnosis) == [["torch-cpu"]] and patch is not None
    assert (patch.diff, patch.files, patch.verified) == ("", {}, False)
    assert "+torch.manual_seed(0)" in patch.partial
    shown = io.StringIO()
    show(diagnosis, Console(file=shown, width=200))
    said = f"with them, runs differ later, for a reason that was not found: samerun diff {patch.runs[0]} "
    assert said in shown.getvalue() and "none: the edits" not in shown.getvalue()
