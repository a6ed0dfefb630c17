"""The frames of an Arrow IPC stream: which of them are whole, and whether the stream was closed.

Layout of a frame: https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_MARK = b"\xff\xff\xff\xff"
_KIND, _BODY_LENGTH = 1, 3  # fields of a Message's flatbuffer
_DICTIONARY = 2  # a kind of message


class Extent(NamedTuple):
    """How much of a stream is whole: its length in bytes, its frames, and whether the end was written."""

    length: int
    frames: int
    complete: bool


def find_whole(data: memoryview) -> Extent:
    """The whole frames at the start of a stream; a frame cut short by its end is left out.

    So are the dictionaries of a batch that is not there. Raises ValueError where the bytes are no frame at
    all, or go on after the end of the stream.
    """
    at = frames = length = waiting = 0
    while True:
        mark = bytes(data[at : at + 4])
        if not _MARK.startswith(mark):
            raise ValueError(f"byte {at} does not begin a frame")
        start = at + 8
        if start > len(data):
            return Extent(length, frames, False)
        (head,) = struct.unpack_from("<i", data, at + 4)
        if head == 0:
            if start != len(data):
                raise ValueError(f"{len(data) - start} bytes follow the end of the stream")
            return Extent(start, frames + waiting, True)
        if head < 0:
            raise ValueError(f"the frame at byte {at} has a length of {head}")
        if start + head > len(data):
            return Extent(length, frames, False)
        kind, body = _read_head(data[start : start + head], at)
        at = start + head + body
        if at > len(data):
            return Extent(length, frames, False)
        waiting += 1
        if kind != _DICTIONARY:
            length, frames, waiting = at, frames + waiting, 0


def _read_head(head: memoryview, at: int) -> tuple[int, int]:
    """(kind of message, bytes of its body) as a frame's flatbuffer says; 0 for what it leaves out."""
    try:
        (table,) = struct.unpack_from("<I", head, 0)
        (back,) = struct.unpack_from("<i", head, table)
        vtable = table - back
        (size,) = struct.unpack_from("<H", head, vtable)

        def field(number: int, form: str) -> int:
            entry = 4 + 2 * number
            offset = struct.unpack_from("<H", head, vtable + entry)[0] if entry + 2 <= size else 0
            value: int = struct.unpack_from(form, head, table + offset)[0] if offset else 0
            return value

        kind, body = field(_KIND, "<B"), field(_BODY_LENGTH, "<q")
    except struct.error:
        body = -1
    if body < 0:
        raise ValueError(f"the frame at byte {at} does not say how long it is")
    return kind, body
