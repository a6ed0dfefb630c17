"""Event files of TensorBoard: scalars by their step and tag, histograms, images and texts by digest.

A file is a sequence of records: the length in 8 bytes, its checksum in 4, the record, its checksum in 4
(TensorFlow's TFRecord, little-endian). A record is a protocol buffer `Event` with the fields wall_time = 1,
step = 2 and summary = 5; a summary has values = 1, each with tag = 1 and what it is (tensorboard.proto).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from samerun.launching.written_files.texts import convert, digest
from samerun.runs.written import Value

PREFIX = "events.out.tfevents."
_STEP, _SUMMARY = 2, 5  # of an event
_VALUE = 1  # of a summary
_TAG, _SCALAR, _IMAGE, _HISTOGRAM, _AUDIO, _TENSOR = 1, 2, 4, 5, 6, 8  # of a value
_HELD = (_IMAGE, _HISTOGRAM, _AUDIO, _TENSOR)
_OF_HPARAMS = "_hparams_/"  # holds when the session began
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def read_events(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The values of each event, by `step.tag`. Raises ValueError for a record that is not whole."""
    while head := file.read(12):
        if len(head) < 12:
            return  # the program was still writing it
        (length,) = struct.unpack("<Q", head[:8])
        record = file.read(length) if length < 1 << 30 else b""
        if len(record) < length or len(file.read(4)) < 4:
            return
        yield from _read_event(record)


def began_before(name: str, time: float) -> bool:
    """Whether the name of an event file says that another run began it, before that time in seconds."""
    began = name.removeprefix(PREFIX).partition(".")[0]
    return name.startswith(PREFIX) and began.isdecimal() and int(began) < int(time)


def _read_event(record: bytes) -> Iterator[tuple[str, Value]]:
    fields = list(_list_fields(record))
    step = next((value for number, value in fields if number == _STEP and isinstance(value, int)), 0)
    for number, summary in fields:
        if number != _SUMMARY or not isinstance(summary, bytes):
            continue
        for inner, value in _list_fields(summary):
            if inner == _VALUE and isinstance(value, bytes):
                yield from _read_value(step, value)


def _read_value(step: int, value: bytes) -> Iterator[tuple[str, Value]]:
    fields = dict(_list_fields(value))
    tag = fields.get(_TAG)
    name = f"{step}.{tag.decode('utf-8', 'replace') if isinstance(tag, bytes) else ''}"
    scalar = fields.get(_SCALAR)
    if isinstance(scalar, bytes) and len(scalar) == 4:
        yield name, convert(struct.unpack("<f", scalar)[0])
    elif not name.partition(".")[2].startswith(_OF_HPARAMS):
        for number in _HELD:
            if isinstance(held := fields.get(number), bytes):
                yield name, digest(held)


def _list_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer: whole numbers as int, all else as bytes. Raises ValueError."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, at = _read_varint(message, at)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"a field of the wire type {kind}")
        if at + length > len(message):
            raise ValueError(f"a field of {length} bytes, of which {len(message) - at} are there")
        yield key >> 3, message[at : at + length]
        at += length


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("a number that does not end")
