"""The folder of runs: nothing collides, and nothing else is ever deleted."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from samerun.errors import RunError, RunNotFound, TraceError
from samerun.runs import store as module
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run, Store
from samerun.runs.trace import TraceWriter


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".samerun")


def add(store: Store, name: str | None = None) -> Run:
    path = store.create()
    if name is not None:
        path = path.rename(path.with_name(name))
    Manifest(path.name, ("python",), "", "", outcome="finished", steps=3, duration_s=2.5).write(path)
    return Run(path)


def test_create(store: Store) -> None:
    path = store.create()
    assert path.is_dir()
    assert path.is_absolute()
    assert path.parent == store.runs.absolute()
    assert re.fullmatch(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}", path.name)
    assert (store.root / ".gitignore").read_text() == "*\n"


def test_a_gitignore_of_the_users_stays(store: Store) -> None:
    store.root.mkdir()
    (store.root / ".gitignore").write_text("mine")
    store.create()
    assert (store.root / ".gitignore").read_text() == "mine"


def test_two_checks_at_once_never_share_a_folder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    few = iter(["aaaaaa"] * 20 + [f"{n:06x}" for n in range(200)])
    monkeypatch.setattr(module.secrets, "token_hex", lambda n: next(few))
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: store.create(), range(40)))
    assert len(set(made)) == 40


@pytest.mark.parametrize("name", ["rank0.worker0", "rank0.helper-ForkPoolWorker-1"])
def test_a_helping_process_that_was_ended_before_it_wrote_leaves_no_trace(store: Store, name: str) -> None:
    run = add(store)
    TraceWriter(run.path / "rank0.trace.arrow", {}).close()
    (run.path / f"{name}.trace.arrow").touch()
    assert list(run.traces()) == ["rank0"]


@pytest.mark.parametrize(
    ("name", "content"), [("rank1", b""), ("rank0.helper-ForkPoolWorker-1", b"\xff\xff")]
)
def test_a_trace_that_ends_too_early_is_said(store: Store, name: str, content: bytes) -> None:
    run = add(store)
    (run.path / f"{name}.trace.arrow").write_bytes(content)
    with pytest.raises(TraceError):
        run.traces()


def test_a_root_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="No run can be kept in"):
        Store(tmp_path / "file").create()


def test_list_and_find(store: Store, tmp_path: Path) -> None:
    assert store.list() == []
    old, mid, new = (
        add(store, f"2026112{n}T000000.000Z-{short}")
        for n, short in ((0, "aaaaaa"), (1, "bbbbbb"), (2, "bbbbbc"))
    )
    (store.runs / "notes").mkdir()
    (store.runs / "20261129T000000.000Z-cccccc").touch()
    assert [run.id for run in store.list()] == [old.id, mid.id, new.id]
    assert store.find("last") == new
    assert store.find("last~0") == new
    assert store.find("last~2") == old
    assert store.find("20261120") == old
    assert store.find(mid.id) == mid
    assert store.find(str(mid.path)) == mid
    elsewhere = tmp_path / "copied"
    elsewhere.mkdir()
    Manifest("x", (), "", "").write(elsewhere)
    assert store.find(str(elsewhere)).path == elsewhere


def test_names_that_find_nothing(store: Store) -> None:
    with pytest.raises(RunNotFound, match="holds 0"):
        store.find("last")
    for n, short in ((0, "aaaaaa"), (1, "bbbbbb")):
        add(store, f"2026112{n}T000000.000Z-{short}")
    with pytest.raises(RunNotFound, match="no run last~2"):
        store.find("last~2")
    with pytest.raises(RunNotFound, match=r"start of 2 runs: 20261120.*, 20261121"):
        store.find("2026")
    with pytest.raises(RunNotFound, match=r"Did you mean 20261121T000000\.000Z-bbbbbb"):
        store.find("20261121T000000.000Z-bbbbbx")
    for name in ("", "nonsense", ".."):
        with pytest.raises(RunNotFound):
            store.find(name)


def test_a_run(store: Store) -> None:
    run = add(store)
    assert (run.outcome, run.steps, run.duration_s, run.manifest.command) == ("finished", 3, 2.5, ("python",))
    for stem in ("rank1", "rank0", "rank0.worker0"):
        TraceWriter(run.path / f"{stem}.trace.arrow", {}).close()
    assert list(run.traces()) == ["rank0", "rank0.worker0", "rank1"]
    (run.path / "rank1.trace.arrow").write_bytes(b"")
    with pytest.raises(TraceError, match="rank1"):
        run.traces()


def test_remove(store: Store) -> None:
    run, other = add(store), add(store)
    for name in (
        "rank0.trace.arrow",
        "output.txt",
        "0a.answers",
        "rank0.progress",
        "rank0.stopped",
        "torch.seen",
    ):
        (run.path / name).touch()
    store.remove(run)
    assert store.list() == [other]


def test_nothing_else_is_removed(store: Store, tmp_path: Path) -> None:
    kept = add(store)
    (kept.path / "thesis.tex").touch()
    folder = add(store)
    (folder.path / "data").mkdir()
    elsewhere = tmp_path / "20261120T000000.000Z-aaaaaa"
    elsewhere.mkdir()
    Manifest("x", (), "", "").write(elsewhere)
    target = add(store)
    link = target.path.with_name("20261120T000000.000Z-dddddd")
    link.symlink_to(target.path)
    odd = store.runs / "mine"
    odd.mkdir()
    for path in (kept.path, folder.path, elsewhere, link, odd, store.runs, tmp_path / "absent"):
        with pytest.raises(RunError):
            store.remove(Run(path))
    for path in (kept.path / "thesis.tex", folder.path / "data", elsewhere, link, target.path, odd):
        assert path.exists()
