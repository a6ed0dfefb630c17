from __future__ import annotations

import ast
from pathlib import Path

import pytest

from samerun.editing.data_flow import behind
from samerun.editing.edit import NoEdit, Opening
from samerun.editing.edit_builders import (
    after,
    before,
    put_into,
    removed,
    renamed,
    replaced,
    with_arguments,
    with_first,
    with_keyword,
)
from samerun.editing.merge_edits import merged
from samerun.editing.source_file import File
from samerun.editing.user_program import Code


def file(text: str) -> File:
    return File("train.py", text, "utf-8")


def call(of: File, nth: int = 0) -> ast.Call:
    return list(of.every(ast.Call))[nth]


def edited(folder: Path, text: str, *edits) -> str:
    (folder / "train.py").write_bytes(text.encode())
    return merged(Code(folder, ("python", "train.py"), {"train.py": ""}), edits)["train.py"]


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


CHANGES = {
    "replaced": ("x = f(1)", lambda f: replaced(f, call(f), "0"), "x = 0"),
    "put into": ("x = f(1)", lambda f: put_into(f, call(f), "sorted"), "x = sorted(f(1))"),
    "a bare generator": (
        "x = f(a for a in b)",
        lambda f: put_into(f, call(f).args[0], "sorted", "key=str"),
        "x = f(sorted((a for a in b), key=str))",
    ),
    "renamed": ("x = a.b.c(1)", lambda f: renamed(f, call(f), "d"), "x = a.b.d(1)"),
    "arguments": ("x = f(1, y=2)", lambda f: with_arguments(f, call(f), "3"), "x = f(3)"),
    "first": ("x = f(y=2)", lambda f: with_first(f, call(f), "3"), "x = f(3, y=2)"),
    "first of none": ("x = f()", lambda f: with_first(f, call(f), "3"), "x = f(3)"),
    "keyword": (
        "x = f(1,\n  y=2,  # z\n)",
        lambda f: with_keyword(f, call(f), "z", "3"),
        "x = f(1,\n  y=2, z=3,  # z\n)",
    ),
    "keyword there": ("x = f(1, z=2)", lambda f: with_keyword(f, call(f), "z", "3"), "x = f(1, z=3)"),
    "keyword of none": ("x = f()", lambda f: with_keyword(f, call(f), "z", "3"), "x = f(z=3)"),
    "before": ("if 1:\n\tf()", lambda f: before(f, f.statement(call(f)), "g()"), "if 1:\n\tg()\n\tf()"),
    "after": (
        "if 1:\n  f(\n  )\nx",
        lambda f: after(f, f.statement(call(f)), "g()"),
        "if 1:\n  f(\n  )\n  g()\nx",
    ),
    "removed": ("f()\nx = 1", lambda f: removed(f, f.statement(call(f))), "x = 1"),
    "removed from a block": (
        "if 1:\n  f()\nx",
        lambda f: removed(f, f.statement(call(f))),
        "if 1:\n  pass\nx",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_changes(tmp_path: Path, name: str, newline: str) -> None:
    old, change, new = CHANGES[name]
    text = f"{old}\n".replace("\n", newline)
    assert edited(tmp_path, text, change(file(text))) == f"{new}\n".replace("\n", newline)


def test_edits_of_one_place_nest_and_those_inside_of_another_are_dropped(tmp_path: Path) -> None:
    text = "x = f(g(1))\n"
    read = file(text)
    outer, inner = call(read, 0), call(read, 1)
    wraps = [put_into(read, outer, "a"), put_into(read, inner, "b"), put_into(read, outer, "a")]
    assert edited(tmp_path, text, *wraps) == "x = a(f(b(g(1))))\n"
    assert edited(tmp_path, text, replaced(read, inner, "2"), replaced(read, outer, "3")) == "x = 3\n"
    assert edited(tmp_path, text, put_into(read, inner, "b"), replaced(read, outer, "3")) == "x = 3\n"


def test_an_edit_that_would_break_the_syntax_is_refused(tmp_path: Path) -> None:
    text = "x = f(1)\n"
    with pytest.raises(NoEdit, match="syntax"):
        edited(tmp_path, text, replaced(file(text), call(file(text)), "("))


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


def test_never_inside_of_the_main_guard(tmp_path: Path) -> None:
    text = 'def f():\n    pass\n\nif __name__ == "__main__":\n    import torch\n    f()\n'
    assert edited(tmp_path, text, Opening("torch.manual_seed", "(0)")).startswith(
        "import torch\ntorch.manual_seed(0)\ndef f"
    )
    text = 'if __name__ == "__main__":\n    import torch\n    torch.rand(2)\n'
    assert (
        edited(tmp_path, text, Opening("torch.manual_seed", "(0)"))
        == f"import torch\ntorch.manual_seed(0)\n{text}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a = 7\nx = a\n",
        "def f(a=7):\n    x = a\n",
        "def f(a):\n    x = a\nf(7)\n",
        "def f(*, a):\n    x = a\nf(a=7)\n",
        "class C:\n    def __init__(self, b):\n        self.a = b\nc = C(7)\nx = c.a\n",
        "class C:\n    a: int = 7\nx = C().a\n",
        "d = {'a': 7}\nx = d['a']\n",
        "d = dict(a=7)\nx = d['a']\n",
        "d['a'] = 7\nx = d['a']\n",
        "def g():\n    return 7\nx = g()\n",
        "a, b = 1, 7\nx = b\n",
        "p.add_argument('--a-b', default=7)\nx = p.parse_args().a_b\n",
        "for a in range(7):\n    x = a\n",
        "with f(7) as a:\n    x = a\n",
        "if (a := 7):\n    x = a\n",
        "a = b = c = 7\nx = abs(a) + 1\n",
        "a = a2\na2 = a3\na3 = 7\nx = a\n",
    ],
)
def test_where_a_value_comes_from(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(text)
    code = Code(tmp_path, ("python", "train.py"), {"train.py": ""})
    read = code.main
    value = next(
        node.value
        for node in read.every(ast.Assign)
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "x"
    )

    def is_seven(_: File, node: ast.expr) -> bool:
        return isinstance(node, ast.Constant) and node.value == 7

    assert [place[1].value for place in behind(code, (read, value), is_seven)] == [7]


def test_a_value_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("SEED = 7\n")
    (tmp_path / "train.py").write_text("from config import SEED\nx = SEED\n")
    code = Code(tmp_path, ("python", "train.py"), {"train.py": "", "config.py": ""})
    name = next(node for node in code.main.every(ast.Name) if node.id == "SEED")
    found = behind(code, (code.main, name), lambda _, node: isinstance(node, ast.Constant))
    assert [place[0].path for place in found] == ["config.py"]


def test_values_that_come_from_themselves_end(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def f(a):\n    a = a + f(a)\n    return a\nx = f(f)\n")
    code = Code(tmp_path, ("python", "train.py"), {"train.py": ""})
    assert behind(code, (code.main, call(code.main, -1)), lambda *_: False) == []
