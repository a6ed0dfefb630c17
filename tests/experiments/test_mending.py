"""What is offered as a patch: all that is needed, or nothing."""

from __future__ import annotations

from pathlib import Path

from .scripts import Script
from .test_diagnose import diagnosed


def test_edits_that_are_not_enough_are_no_patch(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",), from_step={"clock": 2})
    diagnosis = diagnosed(script, tmp_path)
    patch = diagnosis.patch
    assert diagnosis.complete and patch is not None
    assert (patch.diff, patch.files, patch.verified) == ("", {}, None)
    assert "+torch.manual_seed(0)" in patch.partial
    assert list(patch.cannot) == ["clock"]
    assert diagnosis.to_json()["patch"]["partial"] == patch.partial


def test_where_every_cause_has_an_edit_the_patch_is_whole(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",), from_step={"python-random": 2})
    patch = diagnosed(script, tmp_path).patch
    assert patch is not None and patch.verified and not patch.partial
    assert "+torch.manual_seed(0)" in patch.diff and "+random.seed(0)" in patch.diff
