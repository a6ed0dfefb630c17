"""Of an image the pixels count, not what a file says of its date and program."""

from __future__ import annotations

import io
import struct
import zlib

from samerun.launching.written_files.images import PNG, read_image
from samerun.runs.written import Value


def pack_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content), kind) + content + struct.pack(">I", zlib.crc32(kind + content))


def read(pixels: bytes, date: bytes = b"", level: int = 6) -> dict[str, Value]:
    size = pack_chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 0, 0, 0, 0))
    parts = [size, pack_chunk(b"tEXt", date), pack_chunk(b"IDAT", zlib.compress(pixels, level))]
    return dict(read_image(io.BytesIO(PNG + b"".join(parts) + pack_chunk(b"IEND", b""))))


def test_one_pixel_counts_and_the_date_and_the_packing_do_not() -> None:
    assert read(b"\0\1\2") == read(b"\0\1\2", date=b"Date\0now") == read(b"\0\1\2", level=0)
    assert read(b"\0\1\2") != read(b"\0\1\3")


def test_other_images_count_byte_by_byte() -> None:
    one, other = (dict(read_image(io.BytesIO(b"\xff\xd8" + end))) for end in (b"a", b"b"))
    assert one != other and set(one) == {"image"}
