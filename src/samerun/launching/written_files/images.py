"""Images: the pixels, without the date and the program that a file names."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from samerun.launching.written_files.texts import digest
from samerun.runs.written import Value

SUFFIXES = frozenset([".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"])
PNG = b"\x89PNG\r\n\x1a\n"
_OF_PIXELS = (b"IHDR", b"PLTE", b"tRNS")
_MOST_PIXELS = 256 << 20  # bytes


def read_image(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """What stands for the image. Raises ValueError for a damaged PNG."""
    data = file.read()
    yield "image", digest(_read_pixels(data) if data.startswith(PNG) else data)


def _read_pixels(data: bytes) -> bytes:
    """Of a PNG: its chunks of pixels as they were before they were packed."""
    at, kept, packed = len(PNG), [], []
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        chunk = data[at + 8 : at + 8 + length]
        if kind == b"IDAT":
            packed.append(chunk)
        elif kind in _OF_PIXELS:
            kept.append(chunk)
        at += 12 + length
    try:
        pixels = zlib.decompressobj().decompress(b"".join(packed), _MOST_PIXELS)
    except zlib.error as error:
        raise ValueError(f"a PNG that is damaged: {error}") from None
    return b"".join([*kept, pixels])
