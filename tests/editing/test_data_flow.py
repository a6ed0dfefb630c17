"""Where values come from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from samerun.editing.data_flow import find_behind, find_functions, find_given
from samerun.editing.source_file import File
from samerun.editing.user_program import Code

from .program import call, program


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

    assert [place[1].value for place in find_behind(code, (read, value), is_seven)] == [7]


def test_a_value_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("SEED = 7\n")
    (tmp_path / "train.py").write_text("from config import SEED\nx = SEED\n")
    code = Code(tmp_path, ("python", "train.py"), {"train.py": "", "config.py": ""})
    name = next(node for node in code.main.every(ast.Name) if node.id == "SEED")
    found = find_behind(code, (code.main, name), lambda _, node: isinstance(node, ast.Constant))
    assert [place[0].path for place in found] == ["config.py"]


def test_values_that_come_from_themselves_end(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def f(a):\n    a = a + f(a)\n    return a\nx = f(f)\n")
    code = Code(tmp_path, ("python", "train.py"), {"train.py": ""})
    assert find_behind(code, (code.main, call(code.main, -1)), lambda *_: False) == []


@pytest.mark.parametrize(
    "text",
    [
        "x = [a for a in range(7)]\n",
        "class C:\n    @property\n    def a(self):\n        return 7\nx = C().a\n",
        "def f(a):\n    def g():\n        x = a\nf(7)\n",
    ],
)
def test_through_comprehensions_properties_and_closures(tmp_path: Path, text: str) -> None:
    code = program(tmp_path, {"train.py": text})
    value = next(node.value for node in code.main.every(ast.Assign))
    found = find_behind(code, (code.main, value), lambda _, node: isinstance(node, ast.Constant))
    assert [place[1].value for place in found] == [7]


def test_the_functions_that_a_call_may_call(tmp_path: Path) -> None:
    code = program(
        tmp_path,
        {
            "train.py": "from data import load as get\ndef here(): pass\nget()\nhere()\nx.load()\nload()\n",
            "data.py": "def load(): pass\ndef here(): pass\n",
        },
    )
    found = [[of.path for of, _ in find_functions(code, code.main, call(code.main, nth))] for nth in range(4)]
    assert found == [["data.py"], ["train.py"], ["data.py"], []]


def test_a_value_that_no_name_leads_to(tmp_path: Path) -> None:
    code = program(tmp_path, {"train.py": "import os\nx = os.path\ny = 3\nz = d[k]\n"})
    names = [*code.main.every(ast.Constant), *code.main.every(ast.Subscript)]
    assert [find_given(code, (code.main, node)) for node in names] == [(), ()]
