"""Code is shown where a run had the file as it reads now, and the line is named of the run that has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from samerun.digest import digest_bytes
from samerun.report.safe_text import put
from samerun.report.text.first_difference import describe, write_headline
from samerun.report.text.shown_code import describe_line, find_code, may_show, name_line
from samerun.runs.difference import Difference, Origin, Side

OLD = "import os\nloss = old()\n"
NEW = "import os\n\nimport sys\nloss = new()\n"
HERE = Difference(0, "end", "written", name="loss in out.json", call_site="train.py:2")


def side(text: str | None) -> Side:
    files = {} if text is None else {"train.py": digest_bytes(text.encode()).hex()}
    return Side(settings={"code": files})


def between(old: str | None, new: str | None, **values: Any) -> Difference:
    return replace(HERE, a=side(old), b=side(new), **values)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "train.py").write_text(NEW)
    return str(tmp_path)


def shown(difference: Difference, folder: str) -> str:
    console = Console(width=100, record=True, quiet=True)
    with console.capture() as capture:
        console.quiet = False
        put(console, describe(difference, folder, None))
    return capture.get()


def test_the_line_of_a_run_whose_file_has_changed_is_not_shown_in_another_file(folder: str) -> None:
    found = between(OLD, NEW)
    assert find_code(found, folder) is None
    assert describe_line(found, folder) == "train.py:2 in run A (the file has changed since)"
    assert "│" not in shown(found, folder)


def test_both_lines_are_named_and_the_one_of_the_file_as_it_is_is_shown(folder: str) -> None:
    found = between(OLD, NEW, other_site="train.py:4")
    assert describe_line(found, folder) == "train.py:2 in run A, train.py:4 in run B"
    assert "→    4 │ loss = new()" in shown(found, folder)
    assert "at train.py:2 in run A, train.py:4 in run B; every record" in write_headline(found)


def test_one_line_of_both_runs_is_named_once(folder: str) -> None:
    found = between(NEW, NEW, other_site="train.py:2")
    assert describe_line(found, folder) == name_line(found) == "train.py:2"
    assert find_code(found, folder) == ("train.py:2", (NEW.splitlines(), 2))


def test_a_line_that_run_b_alone_has_is_its_own(folder: str) -> None:
    found = between(OLD, NEW, call_site="train.py:4", site_in="b")
    assert describe_line(found, folder) == "train.py:4 in run B"
    assert find_code(found, folder) == ("train.py:4", (NEW.splitlines(), 4))
    assert describe_line(between(NEW, OLD, site_in="b"), folder).endswith(
        "in run B (the file has changed since)"
    )


def test_a_file_that_neither_run_had_so(folder: str) -> None:
    found = between(OLD, OLD, other_site="train.py:2")
    assert describe_line(found, folder) == "train.py:2 (the file has changed since)"
    Path(folder, "train.py").unlink()
    assert describe_line(found, folder) == "train.py:2 (the file is no longer there)"
    assert describe_line(found, "") == describe_line(found, f"{folder}/none") == "train.py:2"


def test_a_file_whose_digest_is_not_known_is_shown_as_it_is(folder: str) -> None:
    found = between(None, None)
    assert describe_line(found, folder) == "train.py:2"
    assert find_code(found, folder) is not None
    assert may_show(found, "train.py:2", folder)
    assert not may_show(between(NEW, OLD), "train.py:2", folder)


def test_the_line_of_an_operation(folder: str) -> None:
    origin = Origin("aten.mm", None, "train.py:4", "forward", True, False, None, False, False)
    found = between(NEW, NEW, call_site=None, origin=origin)
    assert name_line(found) == "train.py:4"
    assert name_line(replace(found, origin=None)) is None
