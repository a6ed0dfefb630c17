"""Each way to hide from the recorder has its own explanation."""

from __future__ import annotations

import pytest

from samerun.launching.why_unrecorded import explain_unrecorded, without_torch


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python -I train.py", "with -I (isolated mode)"),
        ("/usr/bin/python3.11 -u -S train.py", "with -S"),
        ("python -sE -m train", "with -E"),
        ("python -W ignore -I train.py", "with -I"),
        ("env -i python train.py", "env -i clears"),
        ("docker run image python train.py", "docker starts"),
        ("make train", "No Python process"),
        ("python -u train.py -I", "No Python process"),
        ("python -m train -S", "No Python process"),
        ("python -c -I", "No Python process"),
    ],
)
def test_a_command_that_hides(tmp_path, command, said):
    assert said in explain_unrecorded(tmp_path, command.split())


def test_a_script_whose_first_line_hides(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("#!/usr/bin/env -S python3 -I\nprint(1)\n")
    assert "with -I" in explain_unrecorded(tmp_path, [str(script)])


def test_the_three_stages(tmp_path):
    assert "No Python process" in explain_unrecorded(tmp_path, ["make"])
    (tmp_path / "python.seen").touch()
    assert "torch was never imported" in explain_unrecorded(tmp_path, ["make"])
    (tmp_path / "torch.seen").touch()
    assert "no step, loss or batch was seen" in explain_unrecorded(tmp_path, ["make"])


def test_what_failed_in_the_process_comes_first(tmp_path):
    (tmp_path / "python.seen").touch()
    (tmp_path / "inject-error.txt").write_text(
        "A failed [process 1, /p]\nA failed [process 2, /p]\nB [process 3, /p]\n"
    )
    assert explain_unrecorded(tmp_path, ["make"]) == "A failed (1 more in inject-error.txt)"


def test_a_python_without_torch_is_told_of_unless_another_had_one(tmp_path):
    (tmp_path / "python.seen").touch()
    (tmp_path / "no-torch.txt").write_text("/p has no torch. Install it [process 1, /p]\n")
    said = explain_unrecorded(tmp_path, ["make"])
    assert said == "nothing was recorded: /p has no torch. Install it, or name the command that trains"
    (tmp_path / "torch.seen").touch()
    assert "no step, loss or batch was seen" in explain_unrecorded(tmp_path, ["make"])
    assert without_torch(tmp_path) is None
