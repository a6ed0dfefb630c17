"""Covers `content.py` and `reader.py`; TOML itself is read by runs/toml.py."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samerun.errors import RunError, SamerunError, SchemaError, UsageError
from samerun.runs.lock.content import (
    Bounds,
    Environment,
    Lock,
    LockedCode,
    LockedResult,
    LockedStep,
    is_inside,
)
from samerun.runs.lock.file import FILE, format_lock, read_lock, write_lock
from samerun.runs.lock.reader import LockReader
from samerun.runs.toml import parse_toml

A, B, ROOT = "a" * 32, "0123456789abcdef" * 2, "b" * 64
LOCK = Lock(
    command=("python", "train.py", "--name", "two words"),
    mode="strict",
    seed=3,
    ranks=2,
    steps=90,
    code=LockedCode(A, {"train.py": A, "…/shared.py": B}, "c" * 40, True),
    environments={
        "1234abcd": Environment(
            run="20261124T180632.794Z-c3df1f",
            machine={"hardware.processor": "Imagined"},
            settings={"threads": "intra 2"},
            packages={"python": "3.11.7", "torch": "2.13.0+cpu"},
            variables={"LANG": "C.UTF-8"},
            steps=(LockedStep(0, {"loss": A, "draws": B}, 2.5), LockedStep(7, {"loss": B}, math.nan)),
            root={"loss": ROOT, "all": ROOT},
            result=LockedResult(0.1, {"accuracy": 0.75}, {"out/model.pt": A}),
            bounds=Bounds(1e-6, {"accuracy": 0.1}, ("threads: 1 thread",)),
        )
    },
    inputs={"data/train.npz": A, "…/elsewhere.csv": B},
    portable={"indices": ROOT},
    control=("clock",),
    fill="nan",
    limit=90,
    beside=True,
    left_out=("draws",),
    counts={"python-random": 12},
)
TEXT = format_lock(LOCK)


def read(folder: Path, text: str | bytes) -> Lock:
    path = folder / FILE
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_lock(path)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_lock(LOCK, tmp_path / FILE)
    found = read_lock(tmp_path / FILE)
    assert format_lock(found) == TEXT
    one, other = (next(iter(lock.environments.values())) for lock in (found, LOCK))
    assert math.isnan(one.steps[1].loss or 0)
    steps = (one.steps[0], replace(one.steps[1], loss=None))
    other = replace(other, steps=(other.steps[0], replace(other.steps[1], loss=None)))
    assert replace(found, environments={"1234abcd": replace(one, steps=steps)}) == replace(
        LOCK, environments={"1234abcd": other}
    )
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@given(loss=st.floats(), seed=st.integers(0, 2**64 - 1), name=st.text(max_size=20))
def test_any_loss_seed_and_text_is_read_again(loss: float, seed: int, name: str) -> None:
    environment = replace(
        LOCK.environments["1234abcd"],
        steps=(LockedStep(0, {}, loss),),
        machine={"hardware.processor": name.encode("utf-8", "replace").decode()},
    )
    lock = replace(LOCK, seed=seed, environments={"1234abcd": environment})
    found = LockReader(Path(FILE)).lock(parse_toml(format_lock(lock)))
    assert found.seed == seed and format_lock(found) == format_lock(lock)


def test_outside_of_a_repository_nothing_is_said_of_changes() -> None:
    code = parse_toml(format_lock(replace(LOCK, code=LockedCode(A))))["code"]
    clean = parse_toml(format_lock(replace(LOCK, code=LockedCode(A, commit="c" * 40))))["code"]
    assert "dirty" not in code and clean["dirty"] is False


@pytest.mark.parametrize(
    "old, new",
    [
        ("version = 1\n", "version = 2\n"),
        ("version = 1\n", ""),
        ("xxh3-128/1", "xxh3-128/2"),
    ],
)
def test_another_version_is_refused_by_name(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(SchemaError, match=r"Use the samerun that wrote it"):
        read(tmp_path, TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    "old, new",
    [
        ("at = 7", "at = -7"),
        ("at = 7", "at = 0"),
        ("at = 7", "at = true"),
        ("at = 7", "at = 99999999999999"),
        ("steps = 90", "steps = -1"),
        ("ranks = 2", "ranks = 0"),
        ("seed = 3", "seed = 1.5"),
        ("seed = 3", f"seed = {2**64}"),
        ('mode = "strict"', 'mode = "rm -rf"'),
        ('fill = "nan"', 'fill = "other"'),
        ("python train.py", "/bin/sh train.py"),
        ("python train.py", "python 'train.py"),
        ("data/train.npz", "../train.npz"),
        ("data/train.npz", "/etc/passwd"),
        ("data/train.npz", "data/../../train.npz"),
        ("…/elsewhere.csv", "…/../elsewhere.csv"),
        ("out/model.pt", "/out/model.pt"),
        (A, "x" * 32),
        (A, "a" * 31),
        (ROOT, "b" * 63),
        ("accuracy = 0.75", "accuracy = nan"),
        ("accuracy = 0.75", 'accuracy = "\\u001b[31m<b>"'),
        ("[environment.1234abcd]\n", "[environment.1234abcd.more]\n"),
        ("0x1.4000000000000p+1", "one"),
        ("0x1.4000000000000p+1", "0x1p+99999999"),
        ("0x1.999999999999ap-4", "many"),
        ("python-random = 12", "python-random = -1"),
        ("python-random = 12", 'python-random = "\\u001b[31m"'),
        ('commit = "c', 'commit = "--output=x'),
        ('run = "2', "run = 2 #"),
    ],
)
def test_what_cannot_be_is_a_clear_error(tmp_path: Path, old: str, new: str) -> None:
    assert old in TEXT
    with pytest.raises(RunError, match=FILE):
        read(tmp_path, TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe",
        b"not toml",
        b"\0",
        b"version = 1\nversion = 1",
        b"a = " + b"[" * 5000 + b"]" * 5000,
        b"a = " + b"{b=" * 3000 + b"1" + b"}" * 3000,
        b"a = " + b"9" * 100_000,
        b"#" * (2 << 20),
    ],
    ids=["bytes", "text", "null", "twice", "lists", "tables", "number", "huge"],
)
def test_what_is_no_lock_is_a_clear_error(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(SamerunError, match=FILE):
        read(tmp_path, text)


def test_neither_a_link_nor_a_pipe_nor_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(TEXT)
    (tmp_path / FILE).symlink_to("real")
    with pytest.raises(RunError, match="link"):
        read_lock(tmp_path / FILE)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunError, match="pipe"):
        read_lock(tmp_path / "pipe")
    with pytest.raises(RunError, match="folder"):
        read_lock(tmp_path)
    with pytest.raises(UsageError, match="samerun lock -- "):
        read_lock(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["a", "a/b.py", "…/a.csv", "folder/", "./", "…/"])
def test_names_below_the_lock(name: str) -> None:
    assert is_inside(name)


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../../b", "a\\b", "a\0b", "…/a/b", "…//a"])
def test_names_that_lead_elsewhere(name: str) -> None:
    assert not is_inside(name)
