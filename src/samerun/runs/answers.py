"""What a run was given by its sources, value by value, so that another run can be given the same.

One file for each program of the command: frames of four bytes (the length, little endian) and a MessagePack
array. Forked children append to the file of the program that they are forks of. Readable up to its last whole
frame after a `kill -9`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from samerun.errors import RunError
from samerun.runs import untrusted

SUFFIX = ".answers"
MOST = 4 << 20  # bytes that one source may keep in one process
_MOST_FILE = 256 << 20  # bytes of a file, for a program and all its forks
_ROOM = 16 << 20  # of it, for forks that write at the same moment
_LENGTH = struct.Struct("<I")
_BIG_INT = 1

Place = tuple[str | int, ...]


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """One value that a source gave, or what became of it in a run that was to have it again."""

    place: Place  # of the process in the command
    source: str
    name: str  # of what was asked: "os.urandom", "start", …
    site: str  # the user's line, "" where there is none
    value: Any
    what: str = "kept"  # "kept"; "ended": no more is kept; "given": to a replay; "parted": it asked otherwise


def name_file(program: Place) -> str:
    """The name of the file of the program at that place of the command."""
    return hashlib.sha256(json.dumps(program).encode()).hexdigest()[:16] + SUFFIX


def encode(answer: Answer) -> bytes:
    """One frame. Raises TypeError for a value that is not plain."""
    small = _make_small(answer.value)
    if small is not answer.value:
        answer = msgspec.structs.replace(answer, value=small)
    packed = msgspec.msgpack.encode(answer)
    return _LENGTH.pack(len(packed)) + packed


def read_answers(run: Path, program: Place) -> list[Answer]:
    """What the processes of that program were given, in order; [] when it left nothing.

    Raises RunError for a file that cannot be read.
    """
    return list(_read(run / name_file(program)))


def read_all_answers(run: Path) -> Iterator[Answer]:
    """Of all programs of a run, one after the other. Raises RunError for a file that cannot be read."""
    for path in sorted(run.glob(f"*{SUFFIX}")):
        yield from _read(path)


def _read(path: Path) -> Iterator[Answer]:
    try:
        file = untrusted.open_file(path, _MOST_FILE)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from None
    with file:
        while len(head := file.read(_LENGTH.size)) == _LENGTH.size:
            (length,) = _LENGTH.unpack(head)
            packed = file.read(length) if length <= MOST + 1024 else b""
            if len(packed) < length:
                return  # the end of a file that was not finished
            try:
                yield _decoder.decode(packed)
            except (msgspec.DecodeError, RecursionError, ValueError) as error:
                raise RunError(f"{path} cannot be read: {error}") from None


def _make_small(value: Any) -> Any:
    """The same with integers of more than 64 bits as bytes."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return msgspec.msgpack.Ext(
            _BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        )
    if isinstance(value, (list, tuple)):
        return [_make_small(item) for item in value]
    return value


def _read_ext(code: int, data: memoryview) -> Any:
    if code != _BIG_INT:
        raise ValueError(f"a value of the unknown kind {code}")
    return int.from_bytes(data, "little", signed=True)


_decoder = msgspec.msgpack.Decoder(Answer, ext_hook=_read_ext)


def append(path: str, frames: Sequence[bytes]) -> bool:
    """Add frames to a file, in one write; False when the disk does not take them, or the file is full."""
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            data = b"".join(frames)
            if os.fstat(fd).st_size + len(data) > _MOST_FILE - _ROOM:
                return False
            return os.write(fd, data) == len(data)
        finally:
            os.close(fd)
    return False
