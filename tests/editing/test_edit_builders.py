"""Each edit, before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.editing.edit import NoEdit
from samerun.editing.edit_builders import (
    call_instead,
    insert_after,
    insert_before,
    insert_first,
    put_into,
    remove_statement,
    rename_call,
    replace_arguments,
    replace_node,
    set_keyword,
)

from .program import call, edited, file

CHANGES = {
    "replaced": ("x = f(1)", lambda f: replace_node(f, call(f), "0"), "x = 0"),
    "put into": ("x = f(1)", lambda f: put_into(f, call(f), "sorted"), "x = sorted(f(1))"),
    "a bare generator": (
        "x = f(a for a in b)",
        lambda f: put_into(f, call(f).args[0], "sorted", "key=str"),
        "x = f(sorted((a for a in b), key=str))",
    ),
    "renamed": ("x = a.b.c(1)", lambda f: rename_call(f, call(f), "d"), "x = a.b.d(1)"),
    "arguments": ("x = f(1, y=2)", lambda f: replace_arguments(f, call(f), "3"), "x = f(3)"),
    "first": ("x = f(y=2)", lambda f: insert_first(f, call(f), "3"), "x = f(3, y=2)"),
    "first of none": ("x = f()", lambda f: insert_first(f, call(f), "3"), "x = f(3)"),
    "keyword": (
        "x = f(1,\n  y=2,  # z\n)",
        lambda f: set_keyword(f, call(f), "z", "3"),
        "x = f(1,\n  y=2, z=3,  # z\n)",
    ),
    "keyword there": ("x = f(1, z=2)", lambda f: set_keyword(f, call(f), "z", "3"), "x = f(1, z=3)"),
    "keyword of none": ("x = f()", lambda f: set_keyword(f, call(f), "z", "3"), "x = f(z=3)"),
    "before": (
        "if 1:\n\tf()",
        lambda f: insert_before(f, f.statement(call(f)), "g()"),
        "if 1:\n\tg()\n\tf()",
    ),
    "after": (
        "if 1:\n  f(\n  )\nx",
        lambda f: insert_after(f, f.statement(call(f)), "g()"),
        "if 1:\n  f(\n  )\n  g()\nx",
    ),
    "removed": ("f()\nx = 1", lambda f: remove_statement(f, f.statement(call(f))), "x = 1"),
    "removed from a block": (
        "if 1:\n  f()\nx",
        lambda f: remove_statement(f, f.statement(call(f))),
        "if 1:\n  pass\nx",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_changes(tmp_path: Path, name: str, newline: str) -> None:
    old, change, new = CHANGES[name]
    text = f"{old}\n".replace("\n", newline)
    assert edited(tmp_path, text, change(file(text))) == f"{new}\n".replace("\n", newline)


def test_what_is_called_becomes_another_thing_as_the_file_has_imported_it(tmp_path: Path) -> None:
    text = "import numpy as np\nx = f(1)\n"
    assert edited(tmp_path, text, call_instead(file(text), call(file(text)), "numpy.sort")) == (
        "import numpy as np\nx = np.sort(1)\n"
    )
    text = "x = f(1)\n"
    assert edited(tmp_path, text, call_instead(file(text), call(file(text)), "zlib.crc32")) == (
        "import zlib\nx = zlib.crc32(1)\n"
    )


REFUSED = {
    "before": (
        "a = 1; f()\n",
        lambda f: insert_before(f, f.statement(call(f)), "g()"),
        "more than one statement",
    ),
    "after": (
        "f(); a = 1\n",
        lambda f: insert_after(f, f.statement(call(f)), "g()"),
        "more than one statement",
    ),
    "keyword": ("f(a for a in b)\n", lambda f: set_keyword(f, call(f), "c", "1"), "generator expression"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_edited_is_refused(name: str) -> None:
    text, change, why = REFUSED[name]
    with pytest.raises(NoEdit, match=why):
        change(file(text))
