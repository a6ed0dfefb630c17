"""A file is read only when it is whole, and is replaced whole or not at all."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

from samerun.errors import StateError, UsageError
from samerun.state import files, load, save

from .training import Training


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "ckpt.v1.pt"


@pytest.fixture
def saved(path: Path, training: Training) -> Path:
    path.parent.mkdir()
    save(path, **training.objects, epoch=3)
    return path


def test_a_new_process_goes_on_from_the_file(saved: Path, training: Training) -> None:
    expected = training.steps(5), training.digest()
    fresh = Training(seed=99)
    assert load(saved, **fresh.objects) == {"epoch": 3}
    assert (fresh.steps(5), fresh.digest()) == expected
    assert load(str(saved), **fresh.objects) == {"epoch": 3}  # as often as one likes


def test_plain_torch_reads_the_file(saved: Path, training: Training) -> None:
    state = torch.load(saved, weights_only=True)
    fresh = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    fresh.load_state_dict(state["objects"]["model"])
    assert torch.equal(fresh[0].weight, training.model[0].weight)
    assert zipfile.ZipFile(saved).testzip() is None


def test_one_flipped_bit_anywhere_is_refused(path: Path) -> None:
    """A small file, so that every stretch is tried: contents, padding, headers, index, label, digest."""
    path.parent.mkdir()
    model = nn.Linear(2, 2)
    save(path, model=model, epoch=3)
    content = path.read_bytes()
    choose = random.Random(0)
    ends = [*range(300), *range(len(content) - 400, len(content))]
    positions = [*ends, *choose.sample(range(len(content)), 400)]
    for position in positions:
        bit = 1 << choose.randrange(8)
        flipped = bytearray(content)
        flipped[position] ^= bit
        path.write_bytes(flipped)
        with pytest.raises(StateError):
            load(path, model=model)
    path.write_bytes(content)
    assert load(path, model=model) == {"epoch": 3}


def test_every_bit_of_the_label_counts(saved: Path) -> None:
    content = saved.read_bytes()
    for position in range(len(content) - 140, len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[position] ^= 1 << bit
            saved.write_bytes(flipped)
            with pytest.raises(StateError):
                files.load(saved)


@pytest.mark.parametrize("kept", [0, 1, 21, 22, 100, 0.3, 0.9, -1, -33])
def test_a_truncated_file_is_refused(saved: Path, training: Training, kept: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(StateError, match="cut short"):
        load(saved, **training.objects)


def test_bytes_after_the_end_are_refused(saved: Path, training: Training) -> None:
    with open(saved, "ab") as file:
        file.write(b"\0")
    with pytest.raises(StateError):
        load(saved, **training.objects)


def test_a_damaged_file_changes_nothing(saved: Path, training: Training) -> None:
    training.steps(1)
    before = training.digest()
    content = bytearray(saved.read_bytes())
    content[len(content) // 2] ^= 1
    saved.write_bytes(content)
    with pytest.raises(StateError, match="damaged"):
        load(saved, **training.objects)
    assert training.digest() == before


def test_content_that_is_not_what_was_captured_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes on the disk are those that were written, but the writer wrote something else."""
    path.parent.mkdir()
    write = torch.save

    def wrong(content, file):
        content["objects"]["model"]["weight"][0, 0] += 2.0**-20
        write(content, file)

    monkeypatch.setattr(torch, "save", wrong)
    save(path, model=nn.Linear(2, 2))
    with pytest.raises(StateError, match="does not hold what was in memory"):
        load(path, model=nn.Linear(2, 2))


@pytest.mark.parametrize(("name", "part"), [("_VERSION", "version"), ("SCHEMA", "schema")])
def test_a_newer_file_is_refused_by_its_version(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str, part: str
) -> None:
    path.parent.mkdir()
    with monkeypatch.context() as newer:
        newer.setattr(files if name == "_VERSION" else sys.modules["samerun.state.capturing"], name, 7)
        save(path, epoch=1)
    with pytest.raises(StateError, match=f"{part} 7.*use the samerun that"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"PK\5\6", b"\x80\x02K\x01.", b"hello"])
def test_what_is_not_ours_is_refused_with_what_helps(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"samerun\.state\.audit"):
        load(path)


def test_another_checkpoint_is_refused_and_never_executed(path: Path) -> None:
    path.parent.mkdir()
    torch.save({"model": nn.Linear(1, 1)}, path)  # a pickle of a class
    with pytest.raises(StateError, match=r"samerun\.state\.audit"):
        load(path)


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    for call in (save, load):
        with pytest.raises(StateError, match="is a folder"):
            call(tmp_path)
        with pytest.raises(StateError, match="does not exist"):
            call(tmp_path / "no" / "ckpt.pt")
        with pytest.raises(UsageError, match="a path is a string"):
            call(None)
    with pytest.raises(StateError, match="no such file"):
        load(tmp_path / "ckpt.pt")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_it_cannot_be_captured(path: Path) -> None:
    path.parent.mkdir()
    with pytest.raises(StateError, match="state_dict"):
        save(path, thing=object())
    assert list(path.parent.iterdir()) == []


def test_a_full_disk_leaves_the_old_file(
    saved: Path, training: Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError, match="No space left"):
        save(saved, **training.objects)
    assert saved.read_bytes() == before
    assert [each.name for each in saved.parent.iterdir()] == [saved.name]


def test_it_is_on_the_disk_before_it_has_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir()
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(fd: int) -> None:
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{fd}") else "file")
        fsync(fd)

    def replaced(source: Path, target: Path) -> None:
        assert source.parent == target.parent
        done.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    save(path, epoch=1)
    assert done == ["file", "name", "folder"]


def test_a_link_keeps_pointing_at_the_file(saved: Path, training: Training) -> None:
    link = saved.parent / "last.pt"
    link.symlink_to(saved.name)
    save(link, **training.objects, epoch=4)
    assert link.is_symlink()
    assert load(saved, **training.objects) == {"epoch": 4}


# Each line that it is given is where a process of its own begins to count, until that is killed: a fork of
# this one, as importing torch takes longer than all that is written.
WRITER = """
import os, sys, torch
from samerun.state import save
model = torch.nn.Linear(300, 300)

def write(count):
    while True:
        torch.nn.init.constant_(model.weight, count)
        save(sys.argv[1], model=model, count=count)
        os.write(1, b"%d\\n" % count)  # whole, whatever PYTHONUNBUFFERED says: it is killed at any moment
        count += 1

for line in sys.stdin:
    process = os.fork()
    if process == 0:
        write(int(line))
    os.write(1, b"writer %d\\n" % process)
    os.waitpid(process, 0)
    os.write(1, b"killed\\n")
"""


@pytest.mark.usefixtures("without_cuda")
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_file_whole(path: Path) -> None:
    path.parent.mkdir()
    model, kills, count = nn.Linear(300, 300), 6, 0
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        for kill in range(kills):
            writer.stdin.write(f"{count}\n")
            writer.stdin.flush()
            # The two of them say in any order who writes, and that it writes in a loop now.
            lines = [writer.stdout.readline(), writer.stdout.readline()]
            process = next(int(line.split()[1]) for line in lines if line.startswith("writer"))
            time.sleep(random.Random(kill).uniform(0, 0.05))
            os.kill(process, signal.SIGKILL)
            lines += iter(writer.stdout.readline, "killed\n")
            said = max(int(line) for line in lines if line.strip().isdigit())
            values = load(path, model=model)
            assert values["count"] in (said, said + 1)  # the last it had done, or the one it was at
            assert model.weight.unique().tolist() == [values["count"]]
            count = values["count"] + 1
        writer.stdin.close()
    save(path, model=model)
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # what the killed ones left is gone


def test_a_file_that_another_process_is_writing_is_not_removed(saved: Path, training: Training) -> None:
    other = files.StagedFile(
        saved, {"format": "samerun.state", "schema": 1}, files.Label(0, 1, "a" * 32, agreed=True)
    )
    abandoned = files.name_temporary(saved, "b" * 32)
    abandoned.write_bytes(b"half")
    save(saved, **training.objects)
    assert files.name_temporary(saved, "a" * 32).exists() and not abandoned.exists()
    other.discard()
