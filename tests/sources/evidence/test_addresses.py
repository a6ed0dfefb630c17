import ast
from pathlib import Path

import pytest

from samerun.editing.user_program import Code
from samerun.runs.difference import Side
from samerun.sources.edits.container_elements import are_objects
from samerun.sources.evidence.addresses import is_hashed_by_address, takes_address
from samerun.sources.evidence.hash_order import read_hashing

CLASSES = [
    ("class Node:\n    pass", True),
    ("class Node(object):\n    pass", True),
    ("class Node(nn.Module):\n    pass", True),
    ("@dataclass(eq=False)\nclass Node:\n    pass", True),
    ("@dataclass\nclass Node:\n    pass", False),
    ("class Node(str):\n    pass", False),
    ("class Node(Base):\n    pass", False),
    ("class Node:\n    def __hash__(self):\n        return 1", False),
    ("class Node:\n    def __eq__(self, other):\n        return True", False),
]


@pytest.mark.parametrize(("text", "expected"), CLASSES)
def test_which_classes_are_hashed_by_address(text: str, expected: bool) -> None:
    made = ast.parse(text).body[0]
    assert isinstance(made, ast.ClassDef)
    assert is_hashed_by_address(made) is expected


@pytest.mark.parametrize(("text", "expected"), CLASSES)
def test_evidence_and_edits_go_by_it(text: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{text}\n\nnodes = {{Node(), Node()}}\n")
    code = Code(tmp_path, ("train.py",), {"train.py": ""})
    nodes = next(node for node in code.file("train.py").every(ast.Set))
    assert are_objects(code, (code.file("train.py"), nodes)) is expected
    seen = read_hashing(Side(manifest={"cwd": str(tmp_path)}, settings={"code": {"train.py": ""}}))
    assert seen is not None and bool(seen.objects) is expected
    assert bool(seen.values) is not expected


@pytest.mark.parametrize(
    ("text", "called", "expected"),
    [
        ("id(x)", "id", True),
        ("x.data_ptr()", "x.data_ptr", True),
        ("id(x)", "mine.id", False),
        ("id", None, False),
    ],
)
def test_which_expressions_are_addresses(text: str, called: str | None, expected: bool) -> None:
    assert takes_address(ast.parse(text, mode="eval").body, called) is expected
