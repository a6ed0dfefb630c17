"""Tests mirror src: who changes a module finds its test by its path.

The test of `a/b.py` is `tests/a/test_b.py`, or a test file of `tests/a` or of the folder above that names the
module in its docstring, in backticks, by its path from the package of its own folder.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path, PurePosixPath

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "samerun"
ENOUGH = 0.9
NAME = re.compile(r"`([\w/]+\.py)`")


def has_code(path: Path) -> bool:
    """Whether a module does anything: a function with more than a docstring, `...` or `pass` in it."""
    return any(
        not isinstance(item, ast.Pass)
        and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for item in node.body
    )


def modules() -> set[PurePosixPath]:
    return {PurePosixPath(path.relative_to(SOURCE).as_posix()) for path in SOURCE.rglob("*.py")}


def named() -> dict[PurePosixPath, set[PurePosixPath]]:
    """Each test file → the modules that its docstring names."""
    found = {}
    for path in TESTS.rglob("test_*.py"):
        here = PurePosixPath(path.relative_to(TESTS).as_posix())
        text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
        found[here] = {here.parent / name for name in NAME.findall(text)}
    return found


def is_near(test: PurePosixPath, module: PurePosixPath) -> bool:
    return test.parent in (module.parent, module.parent.parent)


def test_each_module_has_its_test() -> None:
    tests, every = named(), sorted(path for path in modules() if has_code(SOURCE / path))
    without = [
        module
        for module in every
        if module.parent / f"test_{module.name}" not in tests
        and not any(module in names and is_near(test, module) for test, names in tests.items())
    ]
    print(f"{len(without)} of {len(every)} modules have no test:", *without, sep="\n")
    assert len(without) <= (1 - ENOUGH) * len(every)


def test_what_a_test_names_is_there() -> None:
    there = modules()
    gone = {
        str(test): [str(name) for name in names - there]
        for test, names in named().items()
        if test.name != "test_mirror.py" and names - there
    }
    assert gone == {}


def test_a_module_of_words_alone_needs_none() -> None:
    assert [has_code(SOURCE / name) for name in ("errors.py", "ranks/identity.py")] == [False, True]
