"""Bytes in a file of any size, read piece by piece."""

from __future__ import annotations

import errno
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from samerun.runs import untrusted

_ANY_SIZE = 2**63 - 1
_MOST_AT_ONCE = (
    16 << 20
)  # a longer read of structure, such as a directory of a zip file, is none of a checkpoint


class Bytes(Protocol):
    """Bytes that are read from a place on."""

    @property
    def size(self) -> int:
        """How many there are."""

    def read_at(self, at: int, count: int) -> bytes:
        """So many bytes from `at` on. Raises ValueError where they are not there."""


@dataclass(frozen=True)
class Held:
    """Bytes in memory."""

    data: bytes

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.data)

    def read_at(self, at: int, count: int) -> bytes:
        """So many bytes from `at` on."""
        return _whole(self.data[at : at + count], count)


@dataclass(frozen=True)
class Stored:
    """The content of an open file."""

    file: BinaryIO
    size: int

    def read_at(self, at: int, count: int) -> bytes:
        """So many bytes from `at` on. Raises ValueError where they are not there."""
        if at < 0 or count < 0 or at + count > self.size:
            raise ValueError(f"it has {self.size} bytes, and ends before byte {at + count}")
        parts, left = [], count
        while left:  # one call of the system gives 2 GiB at most
            part = os.pread(self.file.fileno(), left, at + count - left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return _whole(parts[0] if len(parts) == 1 else b"".join(parts), count)


class Part:
    """`size` bytes of others, from `start` on. Raises ValueError where these are not there."""

    def __init__(self, data: Bytes, start: int, size: int) -> None:
        if start < 0 or size < 0 or start + size > data.size:
            raise ValueError(f"it has {data.size} bytes, and ends before byte {start + size}")
        self._data, self._start, self.size = data, start, size

    def read_at(self, at: int, count: int) -> bytes:
        """So many bytes from `at` on."""
        if at < 0 or count < 0 or at + count > self.size:
            raise ValueError(f"a part of {self.size} bytes, which ends before byte {at + count}")
        return self._data.read_at(self._start + at, count)


def open_stored(path: Path, *, follow: bool) -> Stored:
    """A whole file. Raises OSError as `untrusted.open_file`."""
    file = untrusted.open_file(path, _ANY_SIZE, follow=follow)
    return Stored(file, os.fstat(file.fileno()).st_size)


class BytesFile(io.RawIOBase):
    """Bytes as a file, for readers of structure; it refuses to read much at once."""

    def __init__(self, data: Bytes) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """As of any file."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._data.size}[whence]
        if base + offset < 0:
            raise OSError(errno.EINVAL, f"a place before the file: {base + offset}")
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> Any:
        """As of any file. Raises ValueError for more than 16 MiB."""
        left = max(self._data.size - self._at, 0)
        count = left if size is None or size < 0 else min(size, left)
        if count > _MOST_AT_ONCE:
            raise ValueError(f"{count} bytes of structure; at most {_MOST_AT_ONCE} are read")
        data = self._data.read_at(self._at, count)
        self._at += count
        return data


def _whole(data: bytes, count: int) -> bytes:
    if len(data) != count:
        raise ValueError(f"{count} bytes were expected, and {len(data)} are there")
    return data
