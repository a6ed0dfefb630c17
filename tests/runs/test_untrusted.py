"""Files and JSON within limits; what is refused, by every verb, is in tests/hostile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from samerun.runs.untrusted import digest_file, open_file, parse_json, read_bytes, read_end, read_text


def test_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("päth\n".encode())
    assert read_bytes(path, 6) == "päth\n".encode()
    assert read_text(path, 6) == "päth\n"
    assert read_end(path, 3) == b"th\n"
    assert read_end(path, 100) == "päth\n".encode()
    other = tmp_path / "other"
    other.write_bytes("päth ".encode())
    assert digest_file(path) == digest_file(path) != digest_file(other)


def test_other_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xff")
    with pytest.raises(ValueError):
        read_text(tmp_path / "file", 9)
    assert read_text(tmp_path / "file", 9, errors="replace") == "\ufffd"


def test_links_are_followed_only_where_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link", 9, follow=True) == "x"
    with pytest.raises(OSError) as refused:
        read_text(tmp_path / "link", 9)
    assert refused.value.strerror == "it is a link, and no link is followed here"


def test_what_is_refused_says_why(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x" * 10)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, said in (
        ("large", "it has 10 bytes; at most 9 are read"),
        ("folder", "it is a folder, not a file"),
        ("pipe", "it is a pipe, not a file"),
        ("zero", "it is a device, not a file"),
        ("absent", "No such file or directory"),
        ("a\0b", "embedded null byte"),  # from Python 3.13 on: open: embedded null character in path
    ):
        with pytest.raises(OSError) as refused:
            read_bytes(tmp_path / name, 9, follow=True)
        text = refused.value.strerror.replace("open: embedded null character in path", "embedded null byte")
        assert text == said


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(OSError):
            open_file(tmp_path / "folder", 9)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"1234")
    with open_file(path, 4) as file:
        path.write_bytes(b"12345")
        assert file.read(4 + 1) == b"12345"  # so `read_bytes` reads one more than it may
    with pytest.raises(OSError, match="5 bytes"):
        read_bytes(path, 4)


@pytest.mark.parametrize(
    "text, value",
    [
        ('{"a": [1, 2.5, null, "x", true]}', {"a": [1, 2.5, None, "x", True]}),
        ("[" * 100 + "]" * 100, None),
        ("[" + ", ".join(["[1]"] * 500) + "]", [[1]] * 500),
        ("9" * 60, int("9" * 60)),
        ('"' + "9" * 6000 + '"', "9" * 6000),
        ("[Infinity, 1e999]", [float("inf")] * 2),
    ],
    ids=["plain", "deep", "wide", "long number", "digits in a string", "infinity"],
)
def test_json_within_the_limits(text: str, value: object) -> None:
    found = parse_json(text)
    assert value is None or found == value


@pytest.mark.parametrize(
    "text, words",
    [
        ("[" * 101 + "]" * 101, "nested more than 100 deep"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested more than 100 deep"),
        ("[" * 10**6, "nested more than 100 deep"),
        ("9" * 61, "a number of 61 digits"),
        ("-" + "9" * 10**6, "digits"),
        ("{", "Expecting"),
        ("[1] 2", "Extra data"),
        ("", "Expecting value"),
    ],
)
def test_json_that_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_json(text)
