"""Which line of code printed a line of output, and what of that is made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from notebooks import write_notebook

from samerun.editing.user_program import Code
from samerun.experiments.printing_lines import PrintingLines

SCRIPT = """\
import logging, os, sys, time
log = logging.getLogger()
start = time.time()
seconds = []
def fit(model, data):
    before = time.perf_counter()
    seconds.append(time.perf_counter() - before)
    return model
acc, total = fit(1, 2), 3
print(f"accuracy {acc:.3f} of {total}")
print("mean", sum(seconds) / len(seconds))
log.info("epoch %d: score %.2f", 1, acc)
print("f1 {:.3f}".format(acc))
sys.stdout.write("kept %s\\n" % acc)
print("done", end="\\n\\n")
print("stored", file=open("log.txt", "w"))
print("twice", acc)
print("twice", total)
print(f"a {acc}\\nb {time.time() - start}")
print(acc[0], acc[1])
"""


@pytest.fixture
def lines(tmp_path: Path) -> PrintingLines:
    (tmp_path / "train.py").write_text(SCRIPT)
    return PrintingLines(Code(tmp_path, ("python", "train.py"), {"train.py": ""}))


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        ("accuracy 0.912 of 3", 10),
        ("mean 0.01", 11),
        ("2026-11-24 10:00:00 INFO epoch 1: score 0.91", 12),
        ("f1 0.500", 13),
        ("kept 0.5", 14),
        ("done", 15),
        ("a 1", 19),
        ("0.123 0.5", 20),
        ("tensor(0.1) tensor(0.2)", 20),
        ("stored", None),  # in a file
        ("twice 3", None),  # one of two lines
        ("100 images were found", None),  # a library's: the file does not know the words
    ],
)
def test_a_line_is_found_or_nothing_is_said(lines: PrintingLines, printed: str, line: int | None) -> None:
    found = lines.find(printed)
    assert (None if found is None else found.site) == (None if line is None else f"train.py:{line}")


@pytest.mark.parametrize(
    ("printed", "world"), [("accuracy 1 of 3", False), ("mean 0.1", True), ("b 2", True)]
)
def test_what_is_made_of_a_clock_is_told(lines: PrintingLines, printed: str, world: bool) -> None:
    found = lines.find(printed)
    assert found is not None
    assert lines.changes_each_run(found) is world


def test_without_code_nothing_is_found() -> None:
    assert PrintingLines(None).find("accuracy 0.9") is None


CELLS = (
    "import time\nacc, took = 0.5, time.time()",
    "acc",
    "took",
    "display(HTML(f'<b>score</b> {acc:.2f}'), took)",
    "acc;",
    "if acc:\n    acc",
)


@pytest.mark.parametrize(
    ("printed", "cell", "changes"),
    [
        ("Out[2]: 0.5", 2, False),
        ("Out[3]: 17000.25", 3, True),
        ("score 0.50", 4, False),
        ("17000.25", 4, True),
        ("Out[5]: 0.5", None, None),
        ("Out[6]: 0.5", None, None),
    ],
)
def test_what_a_notebook_shows_is_printed_by_its_cell(
    printed: str, cell: int | None, changes: bool | None, tmp_path: Path
) -> None:
    (tmp_path / "train.ipynb").write_text(write_notebook(*CELLS))
    lines = PrintingLines(Code(tmp_path, ("train.ipynb",), {"train.ipynb": ""}))
    found = lines.find(printed)
    if cell is None:
        assert found is None or not found.site.startswith(f"train.ipynb[{printed[4:5]}]")
        return
    assert found is not None and found.site == f"train.ipynb[{cell}]:1"
    assert lines.changes_each_run(found, printed, len(printed) - 1) is changes
