"""The files of a program as they were when it ran, and the lines of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.digest import digest_bytes
from samerun.editing.edit import NoEdit
from samerun.editing.user_program import Code, encode_text

from .program import program


def digest(text: str) -> str:
    return digest_bytes(text.encode()).hex()


def test_the_files_that_ran_the_script_first(tmp_path: Path) -> None:
    code = program(tmp_path, {"data.py": "", "bad.py": "(", "train.py": ""})
    assert [item.path for item in code.files] == ["train.py", "data.py"]
    assert code.file("train.py") is code.main


def test_the_packages_that_are_imported_before_a_module(tmp_path: Path) -> None:
    files = {"a/__init__.py": "", "a/b/__init__.py": "", "a/b/train.py": ""}
    code = program(tmp_path, files, "-m", "a.b.train")
    assert [item.path for item in code.packages] == ["a/__init__.py", "a/b/__init__.py"]
    assert program(tmp_path, files, "a/b/train.py").packages == []


def test_a_file_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 2\n")
    assert Code(tmp_path, ("python", "train.py"), {"train.py": digest("x = 2\n")}).main.text == "x = 2\n"
    with pytest.raises(NoEdit, match="has changed since the run"):
        _ = Code(tmp_path, ("python", "train.py"), {"train.py": digest("x = 1\n")}).main


def test_a_file_is_found_by_its_content_below_the_folder(tmp_path: Path) -> None:
    for folder, text in (("a", "x = 1\n"), ("b", "x = 2\n"), (".hidden", "x = 1\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").write_text(text)
    code = Code(tmp_path, ("python", "train.py"), {"train.py": digest("x = 1\n")})
    assert code.main.path == "a/train.py"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("<stdin>", "standard input"),
        ("<string>", "python -c"),
        ("<frozen x>", "has no file"),
        ("/tmp/ipykernel_12/34.py", "has no file"),
        ("nowhere.py", "is not in the working directory"),
    ],
)
def test_what_has_no_file_is_refused(tmp_path: Path, path: str, why: str) -> None:
    with pytest.raises(NoEdit, match=why):
        program(tmp_path, {"train.py": ""}).file(path)


def test_the_calls_of_a_call_site(tmp_path: Path) -> None:
    code = program(tmp_path, {"train.py": "x = 1\ny = f(g(2))\n"})
    file, calls = code.calls("train.py:2")
    assert (file.path, [file.said(call) for call in calls]) == ("train.py", ["f(g(2))", "g(2)"])
    assert len(code.expressions("train.py:2")[1]) > len(calls)
    with pytest.raises(NoEdit, match="no line"):
        code.at(None)


def test_a_line_of_a_file_that_was_edited_for_the_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\ny = 2\n")
    ran = "import random\nrandom.seed(0)\nx = 1\ny = 3\n"
    code = Code(tmp_path, ("python", "train.py"), {"train.py": digest(ran)}, {"train.py": ran})
    assert [code.at(f"train.py:{line}")[1] for line in (3, 4)] == [1, 2]


def test_text_is_encoded_as_its_first_lines_say() -> None:
    assert encode_text("#!x\n# coding: latin-1\né") == b"#!x\n# coding: latin-1\n\xe9"
    assert encode_text("\n# coding: latin-1\né") == b"\n# coding: latin-1\n\xe9"
    assert encode_text("x\n# coding: latin-1\né") == "x\n# coding: latin-1\né".encode()
