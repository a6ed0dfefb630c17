"""What the names of a file stand for."""

from __future__ import annotations

import ast

import pytest

from samerun.editing.names import collect_bound, collect_names, is_main_guard, walk_imports

IMPORTS = """
import numpy as np, torch.nn
from time import time as now
from . import data
from .data import load
"""


def test_what_imports_bind() -> None:
    assert collect_bound(ast.parse(IMPORTS).body) == {
        "np": "numpy",
        "torch": "torch",
        "now": "time.time",
        "data": ".data",
        "load": ".data.load",
    }


def test_imported_and_assigned_names() -> None:
    names = collect_names(
        ast.parse(
            "import numpy as np\nrng = np.random.mtrand\nx = other.y\n"
            "def f(a):\n    import os\n    try: pass\n    except OSError as error: b = 1\n"
            "class C: pass\n"
        )
    )
    assert names.imported == {"np": "numpy", "os": "os", "rng": "numpy.random.mtrand"}
    assert names.assigned == {"x", "f", "a", "error", "b", "C"}


def test_imports_are_found_in_a_try_but_not_in_the_main_guard() -> None:
    body = ast.parse(
        "import a\ntry:\n    import b\nexcept ImportError:\n    import c\n"
        "if __name__ == '__main__':\n    import d\ndef f():\n    import e\n"
    ).body
    assert list(collect_bound(walk_imports(body))) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('if __name__ == "__main__": pass', True),
        ('if "__main__" == __name__ and x: pass', True),
        ("if name: pass", False),
        ("__name__", False),
    ],
)
def test_the_main_guard(text: str, expected: bool) -> None:
    assert is_main_guard(ast.parse(text).body[0]) == expected
