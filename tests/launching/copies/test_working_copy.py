"""The copy has what the command needs, keeps the original unchanged, and goes away."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from samerun.errors import UsageError
from samerun.launching.copies.working_copy import find_root, make_scratch_copy


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "project"
    (work / "data" / "deep").mkdir(parents=True)
    (work / "data" / "deep" / "x.txt").write_text("x")
    (work / ".samerun" / "runs").mkdir(parents=True)
    (work / ".venv").mkdir()
    (work / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin")
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "data.bin").write_text("big")
    (work / "data" / "big").symlink_to("../../big")
    (work / "inside").symlink_to("data/deep")
    (work / "absolute").symlink_to(work / "data" / "deep")
    os.mkfifo(work / "pipe")
    return work


def test_files_are_copied_and_what_is_written_there_stays_there(work):
    with make_scratch_copy(work) as copy:
        assert copy.name == work.name
        (copy / "data" / "deep" / "x.txt").write_text("changed")
        (copy / "checkpoint").write_text("new")
    assert (work / "data" / "deep" / "x.txt").read_text() == "x"
    assert not (work / "checkpoint").exists()
    assert not copy.exists()


def test_code_that_pythonpath_names_is_in_the_copy_and_what_is_installed_there_is_not(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lib.py").touch()
    (tmp_path / "theirs" / "lib-1.dist-info").mkdir()
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(["../mine", str(tmp_path / "theirs"), "/gone", str(work)])
    )
    with make_scratch_copy(work) as copy:
        assert (copy / "../mine/lib.py").is_file()
        assert not (copy / "../theirs").exists()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with make_scratch_copy(work) as copy:
        assert (copy / "../theirs/lib.py").is_file()


def test_copies_that_are_made_one_after_another_are_at_the_same_place(work: Path) -> None:
    """A program that seeds itself by its path is to repeat; one beside another is at another place."""
    with make_scratch_copy(work) as first, make_scratch_copy(work) as beside:
        assert first != beside
    with make_scratch_copy(work) as second:
        assert second == first
    with make_scratch_copy(work / "data") as other:
        assert find_root(other) != find_root(first)


def test_no_place_for_a_copy_is_an_error_with_what_to_do(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="Set TMPDIR"), make_scratch_copy(work):
        pass


def test_links_inside_stay_inside_and_links_out_find_what_they_lead_to(work):
    with make_scratch_copy(work) as copy:
        for name in ("inside", "absolute"):
            assert (copy / name / "x.txt").resolve() == copy / "data" / "deep" / "x.txt"
        assert (copy / "data" / "big" / "data.bin").read_text() == "big"


def test_runs_and_pipes_are_left_out_and_environments_are_linked_to(work):
    with make_scratch_copy(work) as copy:
        assert sorted(path.name for path in copy.iterdir()) == [".venv", "absolute", "data", "inside"]
        assert (copy / ".venv").readlink() == work / ".venv"


@pytest.mark.parametrize(
    "code",
    [
        'datasets.MNIST("../../data/mnist", download=True)',
        'root = os.path.join("..", "..", "data")',
        'Path(__file__).resolve().parents[2] / "data"',
        "data: ../../data/x.txt",
        'Path(__file__).parent.parent.parent / "data" / "x.txt"',
    ],
)
def test_what_the_code_names_above_its_folder_is_there_without_a_project(code, tmp_path):
    """Public examples are laid out so; what a run writes there stays in the copy."""
    here, data = tmp_path / "a" / "b", tmp_path / "data"
    here.mkdir(parents=True)
    data.mkdir()
    (data / "x.txt").write_text("x")
    (tmp_path / "other").mkdir()
    (here / ("train.py" if "(" in code else "train.yaml")).write_text(code)
    with make_scratch_copy(here) as copy:
        there = copy / "../../data/x.txt"
        assert there.read_text() == "x"
        there.write_text("changed")
        assert not (copy / "../../other").exists()
    assert (data / "x.txt").read_text() == "x"


def test_what_cannot_be_copied_is_wrong_usage(work, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with (
        pytest.raises(UsageError, match=r"cannot be copied.*without --scratch"),
        make_scratch_copy(work / "gone"),
    ):
        pass
    assert not list(tmp_path.glob("samerun-scratch-*"))


def test_what_links_lead_to_outside_is_copied_too(work, tmp_path):
    (tmp_path / "file.txt").write_text("one")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "back").symlink_to(work / "data")
    (tmp_path / "folder" / "chain").symlink_to("../file.txt")
    (work / "file").symlink_to("../file.txt")
    (work / "folder").symlink_to(tmp_path / "folder")
    (work / "to-be-made").symlink_to("../folder/new.txt")
    with make_scratch_copy(work) as copy:
        assert (copy / "file").read_text() == "one"
        (copy / "file").write_text("two")
        assert (copy / "folder" / "chain").read_text() == "two", "two links to one file lead to one copy"
        (copy / "data" / "big" / "data.bin").write_text("two")
        (copy / "folder" / "back" / "deep" / "x.txt").write_text("two")
        assert (copy / "data" / "deep" / "x.txt").read_text() == "two"
        (copy / "to-be-made").write_text("new")
        assert (copy / "folder" / "new.txt").read_text() == "new"
    assert (tmp_path / "file.txt").read_text() == "one"
    assert (tmp_path / "big" / "data.bin").read_text() == "big"
    assert (work / "data" / "deep" / "x.txt").read_text() == "x"
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["back", "chain"]


def test_a_linked_script_has_what_lies_beside_it_and_relative_paths_are_as_they_were(work, tmp_path):
    (tmp_path / "code" / "package").mkdir(parents=True)
    for name in ("train.py", "helper.py", "package/__init__.py"):
        (tmp_path / "code" / name).write_text(name)
    (work / "train.py").symlink_to("../code/train.py")
    with make_scratch_copy(work) as copy:
        real = (copy / "train.py").resolve()
        assert real.is_relative_to(find_root(copy))
        assert os.path.relpath(real, copy) == "../code/train.py"
        assert (real.parent / "helper.py").read_text() == "helper.py"
        assert (real.parent / "package" / "__init__.py").read_text() == "package/__init__.py"
        assert not (real.parent / "helper.py").is_symlink()


def test_a_script_linked_to_from_a_folder_below_its_own_is_copied(tmp_path):
    work = tmp_path / "repository" / "runs" / "first"
    work.mkdir(parents=True)
    (tmp_path / "repository" / "train.py").write_text("train")
    (tmp_path / "repository" / "runs" / "shared.py").write_text("shared")
    (work / "train.py").symlink_to("../../train.py")
    with make_scratch_copy(work) as copy:
        (copy / "train.py").write_text("changed")
        assert ((copy / "train.py").resolve().parent / "runs" / "shared.py").read_text() == "shared"
        assert (copy / "train.py").resolve().parent / "runs" / "first" == copy
    assert (tmp_path / "repository" / "train.py").read_text() == "train"


def test_what_is_too_much_is_linked_to_but_new_files_beside_it_stay_in_the_copy(work, tmp_path, monkeypatch):
    monkeypatch.setattr("samerun.launching.copies.mirror._MOST_BYTES", 100)
    monkeypatch.setattr("samerun.launching.copies.mirror._MOST_FILES", 20)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "large.pt").write_bytes(bytes(101))
    (tmp_path / "saved" / "small.pt").write_bytes(bytes(50))
    (tmp_path / "many").mkdir()
    for number in range(30):
        (tmp_path / "many" / f"{number}.txt").write_text("x")
    (work / "saved").symlink_to(tmp_path / "saved")
    (work / "many").symlink_to(tmp_path / "many")
    with make_scratch_copy(work) as copy:
        assert (copy / "saved" / "large.pt").readlink() == tmp_path / "saved" / "large.pt"
        (copy / "saved" / "small.pt").write_text("changed")
        (copy / "saved" / "new.pt").write_text("new")
        assert (copy / "many").resolve() == tmp_path / "many"
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == ["large.pt", "small.pt"]
    assert (tmp_path / "saved" / "small.pt").read_bytes() == bytes(50)


def test_programs_and_hard_links(work, tmp_path):
    (work / "python").symlink_to(sys.executable)
    (tmp_path / "one.txt").write_text("one")
    os.link(tmp_path / "one.txt", work / "two.txt")
    with make_scratch_copy(work) as copy:
        assert (copy / "python").resolve() == Path(sys.executable).resolve()
        (copy / "two.txt").write_text("two")
    assert (tmp_path / "one.txt").read_text() == "one"


def test_a_part_of_a_project_has_the_project_around_it(tmp_path):
    project = tmp_path / "project"
    (project / "runs" / "one").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (project / "lib").mkdir()
    (project / "lib" / "model.py").write_text("")
    (project / "names.txt").write_text("one")
    (project / ".samerun").mkdir()
    (project / ".venv").mkdir()
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin")
    (tmp_path / "other").mkdir()
    with make_scratch_copy(project / "runs" / "one") as copy:
        assert (copy / "../../lib/model.py").is_file()
        (copy / "../../names.txt").write_text("two")
        (copy / "../../.git/HEAD").write_text("two")
        assert (copy / "../../.venv").is_symlink()
        assert not (copy / "../../.samerun").exists()
        assert not (copy / "../../../other").exists()
    assert (project / "names.txt").read_text() == "one"
    assert (project / ".git" / "HEAD").read_text() == "ref: refs/heads/main"


def test_what_lies_beside_a_folder_that_is_in_no_project_stays_there(work, tmp_path):
    with make_scratch_copy(work) as copy:
        (tmp_path / "file.txt").write_text("one")
        assert sorted(path.name for path in copy.parent.iterdir()) == ["big", "project"], "big: linked to"


def test_a_copy_of_a_copy_is_made_of_the_first(work, tmp_path):
    with make_scratch_copy(work) as first:
        (first / "data" / "big" / "data.bin").write_text("first")
        with make_scratch_copy(first) as second:
            assert (second / "data" / "big" / "data.bin").read_text() == "first"
            (second / "data" / "big" / "data.bin").write_text("second")
        assert (first / "data" / "big" / "data.bin").read_text() == "first"
