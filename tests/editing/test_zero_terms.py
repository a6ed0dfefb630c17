"""A term that an edit makes 0 goes where what is left can stand alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.editing.edit_builders import replace_node
from samerun.editing.zero_terms import leave_out_zeros

from .program import call, edited, program


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("x = seed + read()\n", "x = seed\n"),
        ("x = read() + args.seed\n", "x = args.seed\n"),
        ("x = (seed + read()) * 3\n", "x = (seed) * 3\n"),
        ("x = seed - read()\n", "x = seed\n"),
        ("x = read() - seed\n", "x = 0 - seed\n"),
        ("x = seed * read()\n", "x = seed * 0\n"),
        ("x = (a or b) + read() + c\n", "x = (a or b) + 0 + c\n"),
        ("x = 2 + read() + c\n", "x = 2 + c\n"),
    ],
)
def test_what_is_left_of_a_sum(tmp_path: Path, text: str, fixed: str) -> None:
    code = program(tmp_path, {"train.py": text})
    read = code.file("train.py")
    edits = leave_out_zeros([replace_node(read, call(read), "0")], code)
    assert edited(tmp_path, text, *edits) == fixed


def test_two_terms_of_one_sum_stay(tmp_path: Path) -> None:
    text = "x = read() + read()\n"
    code = program(tmp_path, {"train.py": text})
    read = code.file("train.py")
    edits = leave_out_zeros([replace_node(read, call(read, nth), "0") for nth in (0, 1)], code)
    assert edited(tmp_path, text, *edits) == "x = 0 + 0\n"
