"""Zip files of which only what is asked for is read, and nothing that claims far more than it holds."""

from __future__ import annotations

import zipfile
from typing import Any, cast

from samerun.tensor_files.stored_bytes import Bytes, BytesFile, Part

_LARGEST_RATIO = 100  # of what is unpacked to what is packed: a bomb has ten times that
_ALWAYS = 64 << 20  # bytes that may be unpacked of any entry


def open_zip(data: Bytes) -> zipfile.ZipFile:
    """Its directory, which is read at once. Raises BadZipFile, ValueError."""
    return zipfile.ZipFile(cast(Any, BytesFile(data)))


def open_entry(data: Bytes, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Bytes:
    """What lies in an entry: a part of the file, or read as it is unpacked. Raises ValueError, BadZipFile."""
    if entry.flag_bits & 1:
        raise ValueError(f"an entry {entry.filename[:200]!r} that is encrypted")
    if entry.compress_type == zipfile.ZIP_STORED:
        return _find_stored(data, entry)
    if entry.file_size > max(_ALWAYS, _LARGEST_RATIO * entry.compress_size):
        raise ValueError(
            f"{entry.filename[:200]!r} claims {entry.file_size} bytes from {entry.compress_size}; what "
            f"unpacks to more than {_LARGEST_RATIO} times its size is not read"
        )
    return Unpacked(archive, entry)


def _find_stored(data: Bytes, entry: zipfile.ZipInfo) -> Part:
    """Past the entry's own header, whose names may be longer than those of the directory."""
    header = data.read_at(entry.header_offset, 30)
    if header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{entry.filename[:200]!r} is not where the directory says")
    names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    return Part(data, entry.header_offset + 30 + names, entry.file_size)


class Unpacked:
    """A packed entry, read from the front on; to go back is to begin again."""

    def __init__(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
        self.size = entry.file_size
        self._archive, self._entry = archive, entry
        self._file: Any = None
        self._at = 0

    def read_at(self, at: int, count: int) -> bytes:
        """So many bytes from `at` on. Raises ValueError, BadZipFile, zlib.error."""
        if self._file is None or at < self._at:
            self._file, self._at = self._archive.open(self._entry), 0
        while self._at < at:
            skipped = self._file.read(min(at - self._at, 1 << 20))
            if not skipped:
                break
            self._at += len(skipped)
        data: bytes = self._file.read(count)
        self._at += len(data)
        if len(data) != count:
            raise ValueError(f"{self._entry.filename[:200]!r} has fewer bytes than it claims")
        return data
