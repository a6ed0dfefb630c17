"""What another run is given so that it goes on as run A did."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from followed import follow

from samerun.comparing.lines.differences import find_differences
from samerun.comparing.lines.given import find_given
from samerun.comparing.lines.origins import find_origins
from samerun.runs.difference import Difference
from samerun.runs.plan import Given

SCRIPT = """\
import os
def read(scale):
    return int(os.environ["UNEQUAL"]) * scale
def train():
    total = 0
    for step in range(1, 4):
        size = read(step)
        total += size
    return total
done = train()
loss = done / 2
"""


def find(folder: Path, text: str) -> tuple[Given, ...]:
    a, b = follow(folder, text, "1"), follow(folder, text, "5")
    nodes = find_differences(a, b)
    line = text.count("\n")
    origins = find_origins(nodes, Difference(0, "forward", "loss", call_site=f"train.py:{line}"))
    assert origins
    return find_given(origins[:1], nodes, a)


def test_a_run_that_is_given_the_numbers_of_another_goes_on_as_that_one(tmp_path: Path) -> None:
    given = find(tmp_path, SCRIPT)
    assert given == (Given((), "train.py", 7, "size", (1, 2, 3)),)
    (again,) = follow(tmp_path, SCRIPT, "5", given)
    last = again.roots[0].did[-1]
    assert last.after is not None
    assert last.after[-1] == 3.0  # as with 1; it is 15.0 with 5


def test_a_number_of_another_type_is_not_written(tmp_path: Path) -> None:
    text = "x = True\ny = 1.5\nopen('said', 'w').write(f'{x} {y}')\n"
    given = [Given((), "train.py", 1, "x", (7,)), Given((), "train.py", 2, "y", (2.5, 3.5))]
    follow(tmp_path, text, given=given)
    assert (tmp_path / "said").read_text() == "True 2.5"


def test_another_process_is_given_nothing(tmp_path: Path) -> None:
    text = "x = 1\nopen('said', 'w').write(str(x))\n"
    follow(tmp_path, text, given=[Given(("fork", "0"), "train.py", 1, "x", (7,))])
    assert (tmp_path / "said").read_text() == "1"


def test_a_secret_is_not_given(tmp_path: Path) -> None:
    text = "import os\ndef f():\n    return 5000 + int(os.environ['UNEQUAL'])\n{} = f()\nloss = {} / 2\n"
    assert find(tmp_path, text.format("size", "size")) != ()
    for run in tmp_path.glob("run *"):
        shutil.rmtree(run)
    assert find(tmp_path, text.format("password", "password")) == ()


def test_what_is_no_number_is_not_given(tmp_path: Path) -> None:
    assert find(tmp_path, "import os\nx = os.environ['UNEQUAL']\nloss = len(x * int(x))\n") == ()


def test_what_a_statement_neither_reads_nor_writes_is_not_given(tmp_path: Path) -> None:
    """It may have been made by something that the statement called."""
    a, b = follow(tmp_path, SCRIPT, "1"), follow(tmp_path, SCRIPT, "5")
    nodes = find_differences(a, b)
    line = SCRIPT.count("\n")
    origin, *_ = find_origins(nodes, Difference(0, "forward", "loss", call_site=f"train.py:{line}"))
    renamed = [replace(node, made=tuple(item._replace(name="other") for item in node.made)) for node in nodes]
    elsewhere = renamed[nodes.index(origin)]
    assert elsewhere.made
    assert find_given([elsewhere], [elsewhere], a) == ()
