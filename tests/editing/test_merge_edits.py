"""Edits of one file made together.

Covers `edit.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.editing.edit import Change, NoEdit, Opening, Wrap
from samerun.editing.edit_builders import put_into, replace_node
from samerun.editing.merge_edits import merge_edits

from .program import call, edited, file, program


def test_edits_of_one_place_nest_and_those_inside_of_another_are_dropped(tmp_path: Path) -> None:
    text = "x = f(g(1))\n"
    read = file(text)
    outer, inner = call(read, 0), call(read, 1)
    wraps = [put_into(read, outer, "a"), put_into(read, inner, "b"), put_into(read, outer, "a")]
    assert edited(tmp_path, text, *wraps) == "x = a(f(b(g(1))))\n"
    assert edited(tmp_path, text, replace_node(read, inner, "2"), replace_node(read, outer, "3")) == "x = 3\n"
    assert edited(tmp_path, text, put_into(read, inner, "b"), replace_node(read, outer, "3")) == "x = 3\n"


def test_an_edit_that_would_break_the_syntax_is_refused(tmp_path: Path) -> None:
    text = "x = f(1)\n"
    with pytest.raises(NoEdit, match="syntax"):
        edited(tmp_path, text, replace_node(file(text), call(file(text)), "("))


def test_lines_at_the_beginning_have_an_order_of_their_own(tmp_path: Path) -> None:
    lines = [
        Opening("torch.use_deterministic_algorithms", "(True)"),
        Opening("torch.manual_seed", "(0)"),
        Opening("random.seed", "(0)"),
        Opening("os.environ", '["A"] = "b"'),
    ]
    assert edited(tmp_path, "import os, random, torch\n\nx = 1\n", *lines) == (
        'import os, random, torch\n\nos.environ["A"] = "b"\nrandom.seed(0)\ntorch.manual_seed(0)\n'
        "torch.use_deterministic_algorithms(True)\nx = 1\n"
    )


def test_the_first_of_two_edits_that_overlap_is_made(tmp_path: Path) -> None:
    text = "x = abcd\n"
    one, two = Change("train.py", 4, 7, "A"), Change("train.py", 5, 8, "B")
    assert edited(tmp_path, text, one, two) == "x = Ad\n"
    assert edited(tmp_path, text, two, one) == "x = aB\n"
    wrap, change = Wrap("train.py", 4, 7, "f(", ")"), Change("train.py", 6, 9, "B")
    assert edited(tmp_path, "x = a+b+c\n", change, wrap) == "x = a+B\n"
    assert edited(tmp_path, "x = a+b+c\n", wrap, change) == "x = f(a+b)+c\n"


def test_an_import_that_an_edit_needs_is_added_once(tmp_path: Path) -> None:
    text = "import os\r\n\r\nx = [a, b]\r\n"
    edits = [Change("train.py", at, at + 1, "zlib", ("import zlib",)) for at in (18, 21)]
    assert edited(tmp_path, text, *edits) == "import os\r\nimport zlib\r\n\r\nx = [zlib, zlib]\r\n"


def test_each_file_is_edited_by_itself_and_one_left_as_it_is_is_no_edit(tmp_path: Path) -> None:
    code = program(tmp_path, {"train.py": "import data\nx = 1\n", "data.py": "y = 2\n"})
    edits = [Change("data.py", 4, 5, "3"), Change("train.py", 16, 17, "1")]
    assert merge_edits(code, edits) == {"data.py": "y = 3\n"}


def test_a_line_for_the_file_of_a_call_site(tmp_path: Path) -> None:
    code = program(tmp_path, {"train.py": "import data\n", "data.py": "import random\n\nrandom.random()\n"})
    opening = Opening("random.seed", "(0)", comment="fixed", site="data.py:3")
    assert merge_edits(code, [opening]) == {
        "data.py": "import random\n\nrandom.seed(0)  # fixed\nrandom.random()\n"
    }
