"""The frames of an Arrow IPC stream: which are whole, whether the stream was closed, what they unpack to.

Layout of a frame: https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format, and of the
tables in its head: https://github.com/apache/arrow/blob/main/format/Message.fbs
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

_MARK = b"\xff\xff\xff\xff"
_HEAD_TYPE, _HEAD, _BODY_LENGTH = 1, 2, 3  # fields of a Message
_DICTIONARY, _RECORDS = 2, 3  # types of its head
_DATA = 1  # of a DictionaryBatch: its RecordBatch
_ROWS, _BUFFERS, _COMPRESSION = 0, 2, 3  # of a RecordBatch

# The writer splits what a second or a long step leaves into batches of at most these.
MOST_ROWS = 1 << 20
MOST_UNPACKED = 256 << 20  # bytes
_MOST_HEAD = 16 << 20  # bytes; the schema's holds the command line
# Of a trace whose every record is the same, each batch is 50 times as large as on disk.
_RATIO, _SMALL = 200, 64 << 20


@dataclass(frozen=True)
class Extent:
    """How much of a stream is whole: its length in bytes, its frames, and whether the end was written."""

    length: int
    frames: int
    complete: bool


class _Frame(NamedTuple):
    kind: int
    length: int  # bytes, with its head
    unpacked: int  # bytes of its body in memory
    rows: int


def find_whole(file: BinaryIO, size: int) -> Extent:
    """The whole frames at the start of a stream of `size` bytes; one cut short by its end is left out.

    So are the dictionaries of a batch that is not there. Bodies are not read, but for what they say that they
    unpack to. Raises ValueError where the bytes are no frame at all, go on after the end of the stream, or
    unpack to more than a trace can need, OSError as the file does.
    """
    at = frames = length = waiting = unpacked = 0
    while True:
        file.seek(at)
        prefix = file.read(8)
        if not _MARK.startswith(prefix[:4]):
            raise ValueError(f"byte {at} does not begin a frame")
        if len(prefix) < 8:
            return Extent(length, frames, False)
        (head,) = struct.unpack_from("<i", prefix, 4)
        start = at + 8
        if head == 0:
            if start != size:
                raise ValueError(f"{size - start} bytes follow the end of the stream")
            return Extent(start, frames + waiting, True)
        if head < 0 or (head > _MOST_HEAD and start + head <= size):
            raise ValueError(f"the frame at byte {at} has a head of {head} bytes")
        if start + head > size:
            return Extent(length, frames, False)
        frame = _read_frame(file, file.read(head), at)
        if at + frame.length > size:
            return Extent(length, frames, False)
        unpacked += frame.unpacked
        _check_size(frame, at, unpacked, size)
        at += frame.length
        waiting += 1
        if frame.kind != _DICTIONARY:
            length, frames, waiting = at, frames + waiting, 0


def _check_size(frame: _Frame, at: int, unpacked: int, size: int) -> None:
    """Raise ValueError where a frame, or all up to it, unpack to more than a trace of that size can need."""
    if frame.unpacked > MOST_UNPACKED or frame.rows > MOST_ROWS or unpacked > _SMALL + _RATIO * size:
        raise ValueError(
            f"the frame at byte {at} unpacks to {frame.rows} rows and {frame.unpacked} bytes, more "
            f"than any of samerun's, in a file of {size} bytes"
        )


def _read_frame(file: BinaryIO, head: bytes, at: int) -> _Frame:
    """What a frame's head says, and the starts of its packed buffers."""
    body = at + 8 + len(head)
    try:
        message = _Table.root(head)
        kind, length = message.number(_HEAD_TYPE, "<B"), message.number(_BODY_LENGTH, "<q")
        if length < 0:
            raise ValueError
        unpacked = rows = 0
        if kind in (_DICTIONARY, _RECORDS):
            batch = message.table(_HEAD)
            if kind == _DICTIONARY and batch is not None:
                batch = batch.table(_DATA)
            if batch is not None:
                rows = batch.number(_ROWS, "<q")
                unpacked = _measure_buffers(file, batch, body, length)
    except (struct.error, ValueError, OverflowError):
        raise ValueError(f"the frame at byte {at} does not say how long it is") from None
    return _Frame(kind, 8 + len(head) + length, unpacked, rows)


def _measure_buffers(file: BinaryIO, batch: _Table, body: int, most: int) -> int:
    """The bytes that the buffers of a batch unpack to. Raises ValueError where one is outside of the body."""
    packed = batch.table(_COMPRESSION) is not None
    total = 0
    for offset, length in batch.pairs(_BUFFERS):
        if offset < 0 or length < 0 or offset + length > most:
            raise ValueError
        unpacked = -1  # a packed buffer begins with this number: it was left as it is
        if packed and length >= 8:
            file.seek(body + offset)
            prefix = file.read(8)
            if len(prefix) == 8:  # else the frame is not whole
                (unpacked,) = struct.unpack("<q", prefix)
        if unpacked < -1:
            raise ValueError
        total += length if unpacked == -1 else unpacked
    return total


@dataclass(frozen=True)
class _Table:
    """One table of a flatbuffer. What it leaves out is 0, None or empty."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def number(self, field: int, form: str) -> int:
        at = self._find(field)
        value: int = struct.unpack_from(form, self.data, at)[0] if at else 0
        return value

    def table(self, field: int) -> _Table | None:
        at = self._find(field)
        return _Table(self.data, at + struct.unpack_from("<I", self.data, at)[0]) if at else None

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """The structs of two int64 in a vector."""
        at = self._find(field)
        if not at:
            return []
        at += struct.unpack_from("<I", self.data, at)[0]
        (count,) = struct.unpack_from("<I", self.data, at)
        end = at + 4 + 16 * count
        if end > len(self.data):
            raise ValueError
        return list(struct.iter_unpack("<qq", self.data[at + 4 : end]))

    def _find(self, field: int) -> int:
        """Where a field is, 0 when it is left out."""
        (back,) = struct.unpack_from("<i", self.data, self.at)
        vtable = self.at - back
        (size,) = struct.unpack_from("<H", self.data, vtable)
        entry = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, vtable + entry)[0] if entry + 2 <= size else 0
        return self.at + offset if offset else 0
