"""What is read from the folder of a run that is still going on."""

from __future__ import annotations

import pytest

from samerun.launching import progress_files
from samerun.launching.progress_files import Follower


@pytest.fixture
def touch(tmp_path):
    return lambda *names: [(tmp_path / name).touch() for name in names]


def test_nobody_has_stopped_at_first(tmp_path, touch):
    touch("rank0.trace.arrow")
    assert not Follower(tmp_path).all_stopped()


def test_workers_are_not_waited_for(tmp_path, touch):
    touch("rank0.trace.arrow", "rank0.worker0.trace.arrow", "rank0.stopped")
    assert Follower(tmp_path).all_stopped()


def test_a_parent_that_never_stepped_is_not_waited_for_and_one_that_did_is(tmp_path, touch):
    touch("rank0.trace.arrow", "rank0.SpawnProcess-1.trace.arrow", "rank0.SpawnProcess-1.stopped")
    assert Follower(tmp_path).all_stopped()
    (tmp_path / "rank0.progress").write_text("2 0.5\n")
    assert not Follower(tmp_path).all_stopped()


def test_a_child_that_never_stepped_is_not_waited_for_once_its_parent_stopped(tmp_path, touch):
    touch("rank0.trace.arrow", "rank0.Process-1.trace.arrow", "rank0.stopped")
    assert Follower(tmp_path).all_stopped()
    (tmp_path / "rank0.Process-1.progress").write_text("3 nan")
    assert not Follower(tmp_path).all_stopped()


def test_the_last_ones_are_not_waited_for_forever(tmp_path, touch, monkeypatch):
    touch("rank0.trace.arrow", "rank1.trace.arrow", "rank0.stopped")
    follows = Follower(tmp_path)
    assert not follows.all_stopped()
    monkeypatch.setattr(progress_files, "_LAST_ONES_S", 0.0)
    assert follows.all_stopped()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("3 0.5\n", (3, 0.5)),
        ("       3         nan \n", (3, None)),
        ("", (None, None)),
        ("3", (None, None)),
        ("x y\n", (None, None)),
    ],
)
def test_progress_is_read_leniently(tmp_path, text, read):
    (tmp_path / "rank0.progress").write_text(text)
    assert Follower(tmp_path).latest() == read
