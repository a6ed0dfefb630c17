"""One file: where in its text each node of its tree stands, and what its names stand for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from samerun.editing.edit import NoEdit
from samerun.editing.source_file import File

from .program import call, file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 'é𝒳'; y = f(1)\n", "f(1)"),
        ("\ufeffx = f(1)\n", "f(1)"),
        ("a = 1\r\nx = f(\r\n  1,\r\n)\r\n", "f(\r\n  1,\r\n)"),
        ("a = 1\rx = f(1)\r", "f(1)"),
        ("if 1:\n\tx = f(1)", "f(1)"),
    ],
)
def test_the_text_of_a_node(text: str, said: str) -> None:
    read = file(text)
    assert read.said(call(read)) == said


def test_a_place_in_an_f_string_is_exact_or_refused() -> None:
    read = file("x = f'é{ f(1) }'\n")
    try:
        start, end = read.span(call(read))
    except NoEdit:
        return
    assert read.text[start:end] == "f(1)"


def test_what_names_stand_for() -> None:
    read = file(
        "import numpy as np, torch.nn as nn\nfrom time import time as now\n"
        "from . import data\nrng = np.random\n"
        "a = [np.random.rand(), rng.seed(1), now(), nn.Linear(1, 1), data.load(), len(a), other(2)]\n"
        "def open(x): return open(x)\n"
    )
    assert [read.called(item) for item in read.every(ast.Call)] == [
        "numpy.random.rand",
        "numpy.random.seed",
        "time.time",
        "torch.nn.Linear",
        ".data.load",
        "len",
        "",
        "",
    ]


def test_the_expressions_of_a_line_are_those_of_its_statement_but_no_body() -> None:
    read = file("for x in f(\n    1\n):\n    g(x)\nh(\n    i()\n)\n")

    def named(line: int) -> list[str]:
        return [ast.unparse(item.func) for item in read.calls(line)]

    assert (named(1), named(2), named(4), named(6)) == (["f"], ["f"], ["g"], ["h", "i"])


def test_a_file_is_decoded_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    read = File.read(tmp_path, "a.py")
    assert (read.encoding, read.text) == ("iso-8859-1", "# coding: latin-1\nx = 'é'\n")
    (tmp_path / "a.py").write_bytes(b"x = '\xe9'\n")
    with pytest.raises(NoEdit, match=r"a\.py cannot be read"):
        File.read(tmp_path, "a.py")
    with pytest.raises(NoEdit, match="cannot be parsed"):
        _ = file("x = (\n").tree


def test_lines_and_what_shares_them() -> None:
    read = file("if 1:\n\ta = 1; b = 2\n\tc = 3  # d\n")
    a, b, c = list(read.every(ast.Assign))
    assert [read.stands_alone(item) for item in (a, b, c)] == [False, False, True]
    assert (read.indent(c), read.line_of(read.text.index("b"))) == ("\t", 2)
    assert (read.offset_of_line(1), read.offset_of_line(4)) == (0, len(read.text))


def test_what_is_around_a_node() -> None:
    read = file("class A:\n    def f(self):\n        for x in y:\n            return lambda: g(1)\n")
    made = call(read)
    assert isinstance(read.scope(made), ast.Lambda)
    assert (read.function(made).name, read.owner(made).name) == ("f", "A")
    assert (read.reach(made), read.reach(next(read.every(ast.For)))) == ((4, 4), (3, 4))
