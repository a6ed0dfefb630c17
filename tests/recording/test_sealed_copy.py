"""In a copy of the folder, what was only linked to can be read and not be written.

Covers `at_work.py` too.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from trainer import Trainer

from samerun.recording.sealed_copy import Seal

TRIES = """\
    import os, shutil, torch
    def tried(what, act):
        try:
            act()
            print(what, "done")
        except OSError as error:
            print(what, "refused", error.errno)
    tried("save", lambda: torch.save({"x": 1}, "saved/large.pt"))
    tried("open", lambda: open("saved/large.pt", "r+b").close())
    tried("copy", lambda: shutil.copy("train.py", "saved/large.pt"))
    tried("new", lambda: torch.save({"x": 1}, "saved/new.pt"))
    tried("read", lambda: open("saved/large.pt", "rb").read())
    tried("many", lambda: open("many/new.txt", "w").close())
    tried("remove", lambda: os.remove("many/1.txt"))
    os.chdir("many")
    tried("inside", lambda: open("new.txt", "w").close())
    tried("listing", lambda: os.listdir("."))
    tried("device", lambda: open("/dev/null", "w").close())
    os.chdir("../project" if os.path.isdir("../project") else "/")
"""


def test_a_run_in_a_copy_cannot_write_through_the_links_that_are_left(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("samerun.launching.copies.mirror._MOST_BYTES", 100)
    monkeypatch.setattr("samerun.launching.copies.mirror._MOST_FILES", 20)
    for name in ("project", "saved", "many"):
        (tmp_path / name).mkdir()
    (tmp_path / "saved" / "large.pt").write_bytes(bytes(101))
    for number in range(30):
        (tmp_path / "many" / f"{number}.txt").write_text("x")
    trainer = Trainer(tmp_path / "project")
    trainer.script(TRIES)
    (trainer.folder / "saved").symlink_to("../saved")
    (trainer.folder / "many").symlink_to("../many")
    run = trainer.record("train.py", scratch=True)
    said = dict(line.split(" ", 1) for line in (run.path / "output.txt").read_text().splitlines())
    refused = {what for what, how in said.items() if how.startswith("refused")}
    assert refused == {"save", "open", "copy", "many", "remove", "inside"}, said
    assert {what for what, how in said.items() if how == "done"} == {"new", "read", "listing", "device"}
    assert (tmp_path / "saved" / "large.pt").read_bytes() == bytes(101)
    assert len(os.listdir(tmp_path / "many")) == 30
    assert os.listdir(tmp_path / "saved") == ["large.pt"]


def test_a_run_in_place_writes_where_its_links_lead(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "saved").mkdir()
    trainer = Trainer(tmp_path / "project")
    (trainer.folder / "saved").symlink_to("../saved")
    trainer.script("import torch; torch.save({}, 'saved/new.pt')")
    trainer.record("train.py")
    assert os.listdir(tmp_path / "saved") == ["new.pt"]


@pytest.mark.parametrize("name", ["out/x", "out/deep/x"])
def test_only_what_a_link_leads_out_to_is_refused(tmp_path: Path, name: str) -> None:
    root, user = tmp_path / "root", tmp_path / "user"
    (root / "in").mkdir(parents=True)
    (user / "deep").mkdir(parents=True)
    (root / "out").symlink_to(user)
    (root / "loop").symlink_to("in")
    sealed = Seal(str(root), str(root / "in"), str(tmp_path / "run"))
    for allowed in (root / "in" / "x", root / "loop" / "x", user / "deep" / "x", "relative", 3):
        sealed.check(allowed)
    with pytest.raises(OSError, match="Read-only file system"):
        sealed.check(root / name)
    sealed.check(root / "out", follow=False)  # the link itself is the copy's


def test_checkpoints_from_before_are_kept_outside_of_the_copy_and_its_own_are_not(tmp_path: Path) -> None:
    root, user = tmp_path / "root", tmp_path / "user"
    (root / "in").mkdir(parents=True)
    (user / "step5").mkdir(parents=True)
    old = [user / "last.pt", user / "step5" / "model.safetensors", user / "log.txt", root / "in" / "last.pt"]
    for path in old:
        path.write_bytes(b"x")
        os.utime(path, (1000, 1000))
    (user / "new.pt").write_bytes(b"x")
    sealed = Seal(str(root), str(root / "in"), str(tmp_path / "run"), kept_since=2000.0)
    for refused in (user / "last.pt", user / "step5" / "model.safetensors", user / "step5"):
        with pytest.raises(OSError, match="leaves or writes over no checkpoint of yours"):
            sealed.check(refused)
    for allowed in (user / "log.txt", user / "new.pt", user / "other.pt", root / "in" / "last.pt"):
        sealed.check(allowed)
    sealed.check(user / "last.pt", in_place=True)  # as NumPy maps data
    Seal(str(root), str(root / "in"), str(tmp_path / "run")).check(user / "last.pt")


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    "how",
    [
        "torch.save({}, path)",
        "torch.jit.script(torch.nn.Linear(1, 1)).save(path)",
        "torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), path)",
        "os.replace('tmp.pt', path)",
        "os.remove(path)",
    ],
)
def test_a_run_that_keeps_them_leaves_a_users_checkpoint_as_it_is(how: str, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    path = tmp_path / "ckpt.pt"
    path.write_bytes(b"a week")
    os.utime(path, (1000, 1000))
    trainer = Trainer(tmp_path / "project")
    trainer.script(f"import os, torch; path = {str(path)!r}; torch.save({{}}, 'tmp.pt'); {how}")
    run = trainer.record("train.py", scratch=True, kept_since=2000.0)
    assert "writes over no checkpoint" in (run.path / "output.txt").read_text()
    assert run.outcome == "failed" and path.read_bytes() == b"a week"


def test_nor_does_it_leave_a_new_one_in_the_folder_that_was_copied(tmp_path: Path) -> None:
    """By an absolute path: the user's next run would go on from it."""
    (tmp_path / "project").mkdir()
    trainer = Trainer(tmp_path / "project")
    path = tmp_path / "project" / "last.pt"
    trainer.script(f"import torch; torch.save({{}}, 'own.pt'); torch.save({{}}, {str(path)!r})")
    run = trainer.record("train.py", scratch=True, kept_since=2000.0)
    assert run.outcome == "failed" and not path.exists()
    assert "name it by a path relative to the working directory" in (run.path / "output.txt").read_text()
    assert trainer.record("train.py", scratch=True).outcome == "finished" and path.exists()


COMPILED = """\
    import ctypes
    def serialize_file(tensors, filename, metadata=None):
        ctypes.CDLL(None).creat(str(filename).encode(), 0o644)
    class File:
        def __init__(self, name, mode="r", **more):
            if mode != "r":
                ctypes.CDLL(None).creat(str(name).encode(), 0o644)
"""


def test_a_version_of_a_library_that_has_no_such_writer_is_imported_as_ever(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    trainer = Trainer(tmp_path / "project")
    trainer.script("def save(): pass", "safetensors.py")
    trainer.script("import safetensors; safetensors.save()")
    assert trainer.record("train.py", scratch=True).outcome == "finished"


@pytest.mark.parametrize(
    ("library", "how", "refused"),
    [
        ("safetensors", "safetensors.serialize_file({}, path)", True),
        ("safetensors", "safetensors.serialize_file(tensors={}, filename=path)", True),
        ("safetensors", "safetensors.serialize_file({}, 'own.safetensors')", False),
        ("h5py", "h5py.File(path, 'w')", True),
        ("h5py", "h5py.File(path, mode='a')", True),
        ("h5py", "h5py.File(path)", False),
    ],
)
def test_so_do_libraries_that_open_files_past_python(
    library: str, how: str, refused: bool, tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"a week")
    os.utime(path, (1000, 1000))
    trainer = Trainer(tmp_path / "project")
    trainer.script(COMPILED, f"{library}.py")
    trainer.script(f"import {library}; path = {str(path)!r}; {how}")
    run = trainer.record("train.py", scratch=True, kept_since=2000.0)
    assert path.read_bytes() == b"a week"
    assert ("writes over no checkpoint" in (run.path / "output.txt").read_text()) is refused
    assert run.outcome == ("failed" if refused else "finished")


def test_a_thread_is_refused_while_another_one_is_looked_at(tmp_path: Path, monkeypatch) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (tmp_path / "data.bin").write_bytes(b"1")
    (copy / "data.bin").symlink_to("../data.bin")
    seal = Seal(str(copy), str(copy), str(tmp_path / "run"))
    refused, looked_at, goes_on = [], threading.Event(), threading.Event()
    find = os.path.realpath

    def find_slowly(path):
        if threading.current_thread() is not threading.main_thread():
            looked_at.set()
            goes_on.wait(30)
        return find(path)

    def write():
        try:
            seal.check(str(copy / "data.bin"))
        except OSError as error:
            refused.append(error.errno)

    monkeypatch.setattr(os.path, "realpath", find_slowly)
    other = threading.Thread(target=write)
    other.start()
    assert looked_at.wait(30)
    write()
    assert len(refused) == 1
    goes_on.set()
    other.join()
    assert len(refused) == 2
