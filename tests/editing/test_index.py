"""What a file assigns, calls and defines, by name."""

from __future__ import annotations

import ast

from samerun.editing.index import index, list_pairs, unpack_targets

from .program import file

TEXT = """
import argparse
a, (b, c) = 1, (2, f(3))
class C:
    seed: int = 4
    def __init__(self):
        self.size = 5
options = {"lr": 6, **other}
options["steps"] = 7
parser.add_argument("-b", "--batch-size", default=8)
config = Config(epochs=9)
found.append(10)
def f(x): a = 11
"""


def said(values: list[ast.AST]) -> list[str]:
    return [ast.unparse(value) for value in values]


def test_what_stands_in_a_file() -> None:
    read = file(TEXT)
    made = index(read)
    inner = next(item for item in read.functions() if item.name == "f")
    owner = next(read.every(ast.ClassDef))
    assert [said(made.names[read.tree, name]) for name in "abc"] == [["1"], ["2"], ["f(3)"]]
    assert said(made.names[inner, "a"]) == ["11"]
    assert [said(made.attributes[name]) for name in ("seed", "size", "batch_size", "epochs")] == [
        ["4"],
        ["5"],
        ["8"],
        ["9"],
    ]
    assert [said(made.own[owner, name]) for name in ("seed", "size", "epochs")] == [["4"], ["5"], []]
    assert [said(made.keys[name]) for name in ("lr", "steps", "epochs")] == [["6"], ["7"], ["9"]]
    assert said(made.calls["f"]) == ["f(3)"]
    assert said(made.added["found"]) == ["10"]
    assert made.functions["f"] == [inner]


def test_each_target_has_its_value() -> None:
    read = file("a = b = 1\nfor c in x: pass\nwith f() as d: pass\n(e := 2)\ng += 3\nh: int\n")
    nodes = read.every(ast.stmt, ast.NamedExpr)
    found = [tuple(said(list(pair))) for node in nodes for pair in list_pairs(node)]
    assert sorted(found) == [("a", "1"), ("b", "1"), ("c", "x"), ("d", "f()"), ("e", "2"), ("g", "3")]


def test_parts_that_are_not_written_out_have_the_whole_value() -> None:
    target, value = ast.parse("a, b = f()").body[0].targets[0], ast.parse("f()").body[0].value
    assert [(one.id, other is value) for one, other in unpack_targets(target, value)] == [
        ("a", True),
        ("b", True),
    ]
