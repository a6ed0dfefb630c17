"""Reads files and JSON that may come from a stranger: never through a link, never more than a limit.

Everything that reads a run's folder, or code that a run names, opens it here; a test holds that.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

_DEEPEST = 100  # lists and objects in one another
_DIGITS = 60  # of one number in JSON; a state of 128 bits has 39
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_file(path: Path, most: int, *, follow: bool = False) -> BinaryIO:
    """The regular file of at most `most` bytes, open to read.

    Raises OSError, whose `strerror` says why: also for a link (unless `follow`), for what is no regular file,
    and for one that is larger. Never waits, as for the writer of a pipe.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except ValueError as error:  # a null character in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            _refuse(path, errno.ELOOP, "it is a link, and no link is followed here")
        raise
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
            _refuse(path, errno.EINVAL, f"it is {kind}, not a file")
        if found.st_size > most:
            _refuse(path, errno.EFBIG, f"it has {found.st_size} bytes; at most {most} are read")
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_bytes(path: Path, most: int, *, follow: bool = False) -> bytes:
    """The content of the file that `open_file` opens. Raises OSError as that does."""
    with open_file(path, most, follow=follow) as file:
        data = file.read(most + 1)
    if len(data) > most:  # it grew
        _refuse(path, errno.EFBIG, f"it has more than {most} bytes")
    return data


def read_text(path: Path, most: int, *, errors: str = "strict", follow: bool = False) -> str:
    """The same as UTF-8. Raises OSError, and ValueError for other bytes with errors="strict"."""
    return read_bytes(path, most, follow=follow).decode("utf-8", errors)


def read_end(path: Path, most: int) -> bytes:
    """The last `most` bytes of a regular file of any size. Raises OSError."""
    with open_file(path, _ANY_SIZE) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most))
        return file.read(most)


def digest_file(path: Path) -> str:
    """Stands for the content of a regular file of any size. Raises OSError."""
    import hashlib

    with open_file(path, _ANY_SIZE) as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for every fault, and for what is too deep or too long."""
    decoder = _CAREFUL if _LONG.search(text) else _PLAIN
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > _DEEPEST and _is_deeper(value, _DEEPEST):
        raise ValueError(_TOO_DEEP)
    return value


_ANY_SIZE = 2**63 - 1
_TOO_DEEP = f"it is nested more than {_DEEPEST} deep"


def _parse_int(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"it holds a number of {len(digits)} digits")
    return int(digits)


_LONG = re.compile(rf"\d{{{_DIGITS + 1}}}", re.ASCII)  # or a string of digits: the careful decoder knows
_PLAIN, _CAREFUL = json.JSONDecoder(), json.JSONDecoder(parse_int=_parse_int)


def _is_deeper(value: object, most: int) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    return bool(level)


def _refuse(path: Path, number: int, said: str) -> NoReturn:
    raise OSError(number, said, str(path))
