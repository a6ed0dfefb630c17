"""Diffs that `patch` applies, of lines that end in every way."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from samerun.editing.diff import carry_text, format_unified
from samerun.editing.edit import NoEdit
from samerun.editing.source_file import File

from .program import file

MANY = "".join(f"{line}\n" for line in range(20))


def test_a_diff_shows_three_lines_around_a_change() -> None:
    assert format_unified(file(MANY), MANY.replace("9\n", "nine\n", 1)) == (
        "--- a/train.py\n+++ b/train.py\n@@ -7,7 +7,7 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n"
    )


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MANY, MANY.replace("1\n", "one\n").replace("18\n", "")),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("a\nb", "a\nc"),
        ("a\nb", "a\nb\n"),
        ("a\x0cb\n\u2028c\n", "a\x0cb\n\u2028d\n"),
        ("a\n", "b\na\n"),
    ],
)
def test_patch_makes_the_new_text_of_the_old(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "train.py").write_bytes(old.encode())
    command = ["patch", "-p1", "--binary", "--quiet"]
    subprocess.run(command, cwd=tmp_path, input=format_unified(file(old), new).encode(), check=True)
    assert (tmp_path / "train.py").read_bytes() == new.encode()


def test_lines_of_another_encoding_stay_out_of_the_diff() -> None:
    read = File("train.py", "a = 1\nb = 2\nc = 'é'\n", "iso-8859-1")
    new = "a = 0\nb = 2\nc = 'é'\n"
    assert carry_text(read, new) == new
    assert (
        format_unified(read, new)
        == "--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 0\n b = 2\n"
    )
    with pytest.raises(NoEdit, match=r"iso-8859-1.*write by hand: c = 'è'"):
        carry_text(read, read.text.replace("é", "è"))


def test_a_path_with_a_space_ends_with_a_tab() -> None:
    assert format_unified(File("my train.py", "a\n", "utf-8"), "b\n").splitlines()[0] == "--- a/my train.py\t"
