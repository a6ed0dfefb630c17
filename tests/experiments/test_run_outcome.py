"""How runs ended, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.experiments.run_outcome import describe_end, explain_failure, has_same_output, read_last_lines
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run


def ended(folder: Path, outcome: str, code: int | None = 0, output: bytes | None = None) -> Run:
    path = folder / f"run{len(list(folder.iterdir()))}"
    path.mkdir()
    manifest = Manifest(
        id=path.name,
        command=("python", "train.py"),
        cwd=str(folder),
        started="2026-11-01T12:00:00.000+00:00",
        outcome=outcome,
        exit_code=code,
        duration_s=1.0,
        steps=1,
    )
    manifest.write(path)
    if output is not None:
        (path / "output.txt").write_bytes(output)
    return Run(path)


@pytest.mark.parametrize(
    ("outcome", "code", "expected"),
    [
        ("failed", 3, "exit code 3 after 1 step"),
        ("failed", -9, "killed by signal 9 after 1 step"),
        ("timeout", None, "ended by --timeout after 1 step; give it more seconds"),
    ],
)
def test_how_a_run_ended(tmp_path: Path, outcome: str, code: int | None, expected: str) -> None:
    assert describe_end(ended(tmp_path, outcome, code)).split(", or")[0] == expected


def test_which_of_the_runs_failed(tmp_path: Path) -> None:
    fine, bad, late = ended(tmp_path, "finished"), ended(tmp_path, "failed", 3), ended(tmp_path, "timeout")
    assert explain_failure([fine, fine], parted=False) is None
    assert (
        explain_failure([bad, bad], parted=False)
        == "the command failed in every run: exit code 3 after 1 step"
    )
    assert explain_failure([fine, bad], parted=True) == (
        "run 2 of 2 did not end as the others did: exit code 3 after 1 step"
    )
    assert str(explain_failure([fine, bad], parted=False)).endswith("up to there the runs agree")
    assert str(explain_failure([late, late], parted=False)).startswith(
        "every run was ended by --timeout: run 1 after 1 step, run 2 after 1 step"
    )


def test_the_last_lines_of_the_first_that_failed(tmp_path: Path) -> None:
    text = "".join(f"{line}\n\n" for line in range(9)).encode() + b"\xff\n"
    fine, bad = ended(tmp_path, "finished", output=b"fine\n"), ended(tmp_path, "failed", 1, text)
    assert read_last_lines([fine, bad]) == ("5", "6", "7", "8", "\ufffd")
    assert read_last_lines([fine]) == read_last_lines([ended(tmp_path, "failed")]) == ()


def test_whether_all_printed_the_same(tmp_path: Path) -> None:
    one, two, other = (ended(tmp_path, "finished", output=text) for text in (b"a\n", b"a\n", b"b\n"))
    assert (has_same_output([one, two]), has_same_output([one, two, other])) == (True, False)
    assert has_same_output([one, ended(tmp_path, "finished")]) is None
