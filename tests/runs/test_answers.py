"""What sources gave, on disk: what is read is what was written, and damage is bounded and named."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from samerun.errors import RunError
from samerun.runs.answers import MOST, Answer, append, encode, name_file, read_all_answers, read_answers

PROGRAM = ("program", "python", 0)
VALUES = [0, -1, 2**64 - 1, 2**64, -(2**63) - 1, 2**4000, 0.1, "ä", b"\0\xff", None, [1, [2**99, b"x"]], []]


def kept(value: object, name: str = "os.urandom(4)") -> Answer:
    return Answer(("fork", 1), "os-entropy", name, "train.py:3", value)


def written(folder: Path, *values: object) -> Path:
    path = folder / name_file(PROGRAM)
    assert append(str(path), [encode(kept(value)) for value in values])
    return path


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, *VALUES)
    assert append(str(path), [encode(Answer((), "clock", "", "", "why", "parted"))])
    *found, last = read_answers(tmp_path, PROGRAM)
    assert [answer.value for answer in found] == VALUES
    assert [type(answer.value) for answer in found] == [type(value) for value in VALUES]
    assert found[0] == kept(0)
    assert (last.place, last.what) == ((), "parted")
    assert list(read_all_answers(tmp_path)) == [*found, last]
    assert read_answers(tmp_path, ()) == []


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    assert written(tmp_path, 1).stat().st_mode & 0o777 == 0o600


def test_programs_have_files_of_their_own() -> None:
    assert len({name_file(place) for place in [(), ("fork", 1), ("fork", "1"), PROGRAM]}) == 4


def test_what_is_not_plain_is_refused() -> None:
    with pytest.raises(TypeError):
        encode(kept(object()))


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 20])
def test_a_frame_that_was_torn_ends_the_file(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path, "one", "two")
    first = len(encode(kept("one")))
    path.write_bytes(path.read_bytes()[: first + cut])
    assert [answer.value for answer in read_answers(tmp_path, PROGRAM)] == ["one"]


@pytest.mark.parametrize("length", [MOST + 1025, 2**32 - 1])
def test_a_huge_length_is_not_read(tmp_path: Path, length: int) -> None:
    path = written(tmp_path, "one")
    with open(path, "ab") as file:
        file.write(struct.pack("<I", length))
        file.truncate(200 << 20)
    assert [answer.value for answer in read_answers(tmp_path, PROGRAM)] == ["one"]


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    with open(written(tmp_path, "one"), "ab") as file:
        file.truncate((256 << 20) + 1)
    with pytest.raises(RunError, match="cannot be read"):
        read_answers(tmp_path, PROGRAM)


def test_a_file_does_not_grow_to_where_it_would_be_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "one")
    os.truncate(path, 239 << 20)
    assert append(str(path), [bytes(1 << 19)])
    assert not append(str(path), [bytes(1 << 20)])
    assert path.stat().st_size == (239 << 20) + (1 << 19)


def test_each_changed_byte_is_read_as_something_else_or_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "one", 2**70, [1])
    whole = path.read_bytes()
    before = read_answers(tmp_path, PROGRAM)
    refused = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            assert read_answers(tmp_path, PROGRAM) != before
        except RunError as error:
            assert str(path) in str(error)
            refused += 1
    assert refused > 10


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    packed = b"\x95\x90\xa1s\xa1n\xa1l" + b"\x91" * 100_000 + b"\x01"
    (tmp_path / name_file(PROGRAM)).write_bytes(struct.pack("<I", len(packed)) + packed)
    with pytest.raises(RunError, match="cannot be read"):
        read_answers(tmp_path, PROGRAM)


def test_an_unknown_kind_of_value_is_refused(tmp_path: Path) -> None:
    packed = b"\x95\x90\xa1s\xa1n\xa1l\xd4\x07\x00"
    (tmp_path / name_file(PROGRAM)).write_bytes(struct.pack("<I", len(packed)) + packed)
    with pytest.raises(RunError, match="cannot be read"):
        read_answers(tmp_path, PROGRAM)


def test_a_link_is_neither_read_nor_written(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(encode(kept("theirs")))
    path = tmp_path / name_file(PROGRAM)
    path.symlink_to(elsewhere)
    with pytest.raises(RunError, match="cannot be read"):
        read_answers(tmp_path, PROGRAM)
    assert not append(str(path), [encode(kept("ours"))])
    assert elsewhere.read_bytes() == encode(kept("theirs"))


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name_file(PROGRAM))
    with pytest.raises(RunError, match="cannot be read"):
        read_answers(tmp_path, PROGRAM)


def test_a_disk_that_takes_no_more_is_told(tmp_path: Path) -> None:
    assert not append(str(tmp_path / "gone" / "x"), [b"frame"])
    assert not append("/dev/full", [b"frame"])
