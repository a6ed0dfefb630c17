"""A run is in the user's folder, in a copy that stays, or in one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.launching.copies.working_copy import make_scratch_copy
from samerun.launching.workspace import Workspace
from samerun.runs.store import Store


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "data").write_text("user's")
    return Workspace(tmp_path / "work", Store(tmp_path / ".samerun"))


def left(at: Workspace) -> tuple[str, bool]:
    """What a run finds there, which leaves something else, and whether that stands in for `/`."""
    with at.prepare([]) as (folder, root):
        found = (folder / "data").read_text()
        (folder / "data").write_text("left")
        return found, root is not None and folder.is_relative_to(root)


def test_in_the_folder_itself_the_next_run_finds_what_one_left(at: Workspace) -> None:
    assert [left(at), left(at)] == [("user's", False), ("left", False)]


def test_with_fresh_each_run_finds_the_folder_as_it_is_and_its_copy_is_gone_afterwards(at: Workspace) -> None:
    fresh = Workspace(at.folder, at.store, fresh=True)
    assert [left(fresh), left(fresh)] == [("user's", True)] * 2
    (at.folder / "../beside.txt").write_text("above")
    with fresh.prepare(["cat", "../beside.txt"]) as (folder, _):
        assert (folder / "../beside.txt").read_text() == "above"  # what the command names there is copied too
    assert not folder.exists() and (at.folder / "data").read_text() == "user's"


def test_within_a_copy_the_next_run_finds_what_one_left_there(at: Workspace) -> None:
    with make_scratch_copy(at.folder) as copy:
        within = at.within(copy)
        assert [left(within), left(within)] == [("user's", True), ("left", True)]
        assert copy.exists()
    assert (at.folder / "data").read_text() == "user's"


def test_each_from_a_copy_finds_that_copy_as_it_is(at: Workspace) -> None:
    with make_scratch_copy(at.folder) as copy:
        (copy / "data").write_text("edited")
        each = at.each_from(copy)
        assert [left(each), left(each)] == [("edited", True)] * 2
    assert each.folder == at.folder
