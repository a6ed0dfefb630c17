"""How often a line runs, for all that the code says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from samerun.editing.run_counts import runs_once
from samerun.editing.source_file import get_last_name

from .program import program

PROGRAMS = {
    "the script itself": ("here()", True),
    "a loop": ("for _ in range(1):\n    here()", False),
    "a comprehension": ("made = [here() for _ in range(1)]", False),
    "its main function": ("def main():\n    here()\n\nif __name__ == '__main__':\n    main()", True),
    "a default": ("def f(x=here()):\n    pass\n\nf()\nf()", True),
    "a function of it that is called twice": ("def f():\n    here()\n\nf()\nf()", False),
    "a function that is handed on": ("def f():\n    here()\n\nprint(f)", False),
    "a class that is made once": (
        "class A:\n    def __init__(self):\n        here()\n\ndef main():\n    a = A()\n\nmain()",
        True,
    ),
    "a class that is made in a loop": (
        "class A:\n    def __init__(self):\n        here()\n\nmade = [A() for _ in range(1)]",
        False,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lines(name: str, tmp_path: Path) -> None:
    text, once = PROGRAMS[name]
    code = program(tmp_path, {"train.py": f"{text}\n"})
    (call,) = [each for each in code.main.every(ast.Call) if get_last_name(each) == "here"]
    assert runs_once(code, code.main, call) is once


def test_a_script_beside_the_one_that_was_started(tmp_path: Path) -> None:
    guarded = "def main():\n    here()\n\nif __name__ == '__main__':\n    main()\n"
    code = program(tmp_path, {"train.py": "import torch\n", "prepare.py": guarded})
    call = next(each for each in code.file("prepare.py").every(ast.Call) if get_last_name(each) == "here")
    assert runs_once(code, code.file("prepare.py"), call)


def test_a_function_of_another_file_is_there_for_others_too(tmp_path: Path) -> None:
    code = program(tmp_path, {"train.py": "from tool import f\nf()\n", "tool.py": "def f():\n    here()\n"})
    (call,) = code.file("tool.py").every(ast.Call)
    assert not runs_once(code, code.file("tool.py"), call)
