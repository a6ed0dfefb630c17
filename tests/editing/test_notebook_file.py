"""A notebook as one text of Python: lines are found in both directions, an edit changes its cell alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from notebooks import write_notebook

from samerun.editing.edit import NoEdit
from samerun.editing.notebook_file import NotebookFile

CELLS = (
    ["import random\n", "%matplotlib inline\n", "import torch"],
    "",
    ["for _ in range(2):\n", "    !echo hello\n", "files = !ls\n"],
    ["%%time\n", "x = random.random()"],
    ["%%bash\n", "exit 3"],
    ["text = '''\n", "%not a magic\n", "'''\n", "random?"],
)


def parse(*cells: Any, **form: Any) -> NotebookFile:
    return NotebookFile.parse("a/b.ipynb", write_notebook(*cells, **form))


def test_the_text_is_python_line_by_line() -> None:
    assert parse(*CELLS).text.splitlines() == [
        "# In [1]:",
        "import random",
        "# %matplotlib inline",
        "import torch",
        "# In [2]:",
        "for _ in range(2):",
        "    pass  # !echo hello",
        "files = None  # files = !ls",
        "# In [3]:",
        "# %%time",
        "x = random.random()",
        "# In [4]:",
        "# %%bash",
        "# exit 3",
        "# In [5]:",
        "text = '''",
        "# %not a magic",
        "'''",
        "# random?",
    ]
    assert parse(*CELLS).tree is not None


def test_a_line_that_only_looks_like_a_magic_stays() -> None:
    assert "\n%not a magic\n" in parse(["text = '''\n", "%not a magic\n", "'''"]).text


def test_lines_are_found_in_both_directions() -> None:
    file = parse(*CELLS)
    assert file.site(file.line_at("a/b.ipynb[3]", 2)) == "a/b.ipynb[3]:2"
    assert file.text.splitlines()[file.line_at("a/b.ipynb[3]", 2) - 1] == "x = random.random()"
    for number, line in enumerate(file.text.splitlines(), 1):
        if not line.startswith("# In ["):
            path, _, at = file.site(number).rpartition(":")
            assert file.line_at(path, int(at)) == number
    for missing in (("a/b.ipynb[3]", 3), ("a/b.ipynb[9]", 1), ("a/b.ipynb[1]", 0)):
        with pytest.raises(NoEdit):
            file.line_at(*missing)


@pytest.mark.parametrize(
    "form",
    [
        {"indent": 1},
        {"indent": 1, "ensure_ascii": False},
        {"indent": 2},
        {"indent": None, "separators": (",", ":")},
        {"indent": "\t"},
    ],
)
def test_what_is_not_edited_stays_to_the_byte(form: dict[str, Any]) -> None:
    file = parse(*CELLS, notes="é", **form)
    assert file.rebuild(file.text) == file.saved
    edited = file.rebuild(file.text.replace("x = random.random()", "x = random.Random(0).random()"))
    assert edited != file.saved
    assert edited == file.saved.replace("x = random.random()", "x = random.Random(0).random()")


@pytest.mark.parametrize(
    ("after", "cell", "source"),
    [
        ("import torch\n", 1, [*CELLS[0][:2], "import torch\n", "new()"]),
        ("# %matplotlib inline\n", 1, [*CELLS[0][:2], "new()\n", "import torch"]),
        ("# In [3]:\n", 4, ["new()\n", *CELLS[3]]),
        ("    pass  # !echo hello\n", 3, [*CELLS[2][:2], "new()\n", CELLS[2][2]]),
        ("# random?\n", 6, [*CELLS[5], "\n", "new()"]),
    ],
)
def test_a_new_line_goes_into_its_cell(after: str, cell: int, source: list[str]) -> None:
    file = parse(*CELLS)
    old = json.loads(file.saved)["cells"]
    new = json.loads(file.rebuild(file.text.replace(after, f"{after}new()\n")))["cells"]
    assert "".join(new[cell]["source"]) == "".join(source)
    assert [item for at, item in enumerate(new) if at != cell] == [
        item for at, item in enumerate(old) if at != cell
    ]


def test_the_first_line_of_all() -> None:
    file = parse("a = 1", "b = 2")
    cells = json.loads(file.rebuild(f"new()\n{file.text}"))["cells"]
    assert [cell["source"] for cell in cells[1:]] == ["new()\na = 1", "b = 2"]


@pytest.mark.parametrize(
    "raw", ["", "[]", '{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}', "[" * 9999]
)
def test_what_is_no_notebook_is_refused(raw: str) -> None:
    with pytest.raises(NoEdit, match=r"b\.ipynb cannot be read"):
        NotebookFile.parse("b.ipynb", raw)
