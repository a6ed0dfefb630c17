"""Which lines of code a call site stands for; what it must not lead to is in tests/hostile."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from notebooks import write_notebook

from samerun.digest import digest_bytes
from samerun.runs import notebook
from samerun.runs.source_lines import judge_file, parse_site, read_line, read_source


@pytest.mark.parametrize(
    ("site", "found"),
    [
        ("train.py:3", ("train.py", 3)),
        ("a:b/train.py:3", ("a:b/train.py", 3)),
        ("<stdin>:1", ("<stdin>", 1)),
        ("train.py", None),
        ("train.py:", None),
        (":3", None),
        ("train.py:-3", None),
        ("train.py:x", None),
        ("train.py:9999999999", None),
        ("", None),
        (None, None),
    ],
)
def test_a_call_site(site: str | None, found: tuple[str, int] | None) -> None:
    assert parse_site(site) == found


def test_the_lines_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"a = 1\nb = '\xff'\n")
    (tmp_path / "train").write_text("#!/usr/bin/env python\na = 1\n")
    assert read_source("train.py:2", str(tmp_path)) == (["a = 1", "b = '\ufffd'"], 2)
    assert read_source(str(tmp_path / "train.py:1"), str(tmp_path)) is not None
    assert read_source("train:2", str(tmp_path)) is not None
    for site in ("train.py:3", "train.py:0", "absent.py:1", "train.py"):
        assert read_source(site, str(tmp_path)) is None
    assert read_source("train.py:1", "") is None


def test_the_lines_of_a_cell(tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text(write_notebook(["a = 1\n", "b = 2"], "", "c = 3"))
    (tmp_path / "other.json").symlink_to(tmp_path / "train.ipynb")
    folder = str(tmp_path)
    assert read_source("train.ipynb[1]:2", folder) == (["a = 1", "b = 2"], 2)
    assert read_source("train.ipynb[2]:1", folder) == (["c = 3"], 1)
    assert read_line("train.ipynb[2]:1", folder) == "c = 3"
    for site in (
        "train.ipynb[1]:3",
        "train.ipynb[3]:1",
        "train.ipynb[0]:1",
        "train.ipynb:1",
        "other.json[1]:1",
    ):
        assert read_source(site, folder) is None
    (tmp_path / "secret.ipynb").write_text("secret")
    (tmp_path / "linked.ipynb").symlink_to("/etc/hostname")
    assert read_source("secret.ipynb[1]:1", folder) is read_source("linked.ipynb[1]:1", folder) is None


def test_code_of_the_same_repository(tmp_path: Path) -> None:
    here = tmp_path / "project" / "runs" / "first"
    here.mkdir(parents=True)
    (tmp_path / "project" / "train.py").write_text("a = 1\n")
    (tmp_path / "other.py").write_text("a = 1\n")
    other = tmp_path / "other"
    other.mkdir()
    assert read_source("../../train.py:1", str(here)) is None
    (tmp_path / "project" / ".git").mkdir()
    # What is known of a folder is kept: a fresh path to it.
    again = here.parent / "second"
    here.rename(again)
    assert read_source("../../train.py:1", str(again)) == (["a = 1"], 1)
    assert read_source("../../../other.py:1", str(again)) is None


def test_code_of_an_installed_package(tmp_path: Path) -> None:
    module = Path(sysconfig.get_path("stdlib"), "random.py")
    assert read_source(f"{module}:1", str(tmp_path)) is not None


def test_whether_a_file_is_what_a_run_had(tmp_path: Path) -> None:
    folder, path = str(tmp_path), tmp_path / "train.py"
    path.write_text("a = 1\n")
    digest = digest_bytes(path.read_bytes()).hex()
    assert judge_file("train.py:9", folder, digest) == "same"
    path.write_text("a = 2\n")
    assert judge_file("train.py:9", folder, digest) == "changed"
    path.unlink()
    assert judge_file("train.py:9", folder, digest) == "gone"
    (tmp_path / "train.ipynb").write_text(write_notebook(["a = 1"]))
    cells = notebook.digest_cells(notebook.read_cells(tmp_path / "train.ipynb"))
    assert judge_file("train.ipynb[1]:1", folder, cells) == "same"
    assert judge_file("train.ipynb[1]:1", folder, digest) == "changed"


def test_of_which_file_nothing_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").mkdir()
    for site, folder, digest in (
        ("train.py:1", str(tmp_path), "00"),
        ("train.py", str(tmp_path), "00"),
        ("other.py:1", str(tmp_path), None),
        ("other.py:1", str(tmp_path / "none"), "00"),
        ("other.py:1", "", "00"),
        ("/etc/passwd:1", str(tmp_path), "00"),
    ):
        assert judge_file(site, folder, digest) == "unknown"
