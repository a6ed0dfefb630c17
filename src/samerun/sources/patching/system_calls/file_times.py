"""The times and numbers of files, of which only those count that the code which asks for them uses."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from types import CodeType
from typing import Any

from samerun import callsite

_TIMES = ("st_mtime", "st_atime", "st_ctime", "st_mtime_ns", "st_atime_ns", "st_ctime_ns")
_MARKS = frozenset((*_TIMES, "st_ino", "st_dev"))
_INODE, _DEVICE = 1, 2  # where they stand in a stat_result
_MOST_ENTRIES = 10_000  # of one folder
_scandir = os.scandir  # as it is before anybody replaces it


def take(asked: Any, value: Any) -> Any:
    """What is used of a stat_result, by the names in the code of the function that asks; None for nothing."""
    frame = callsite.find_user_frame(2)
    names = () if frame is None else _MARKS.intersection(frame.f_code.co_names)
    return [[name, getattr(value, name)] for name in sorted(names)] if names else None


def put(kept: Any, real: os.stat_result) -> os.stat_result:
    """The real answer, with the times and numbers that were kept."""
    given = dict(kept)
    reduced: Any = real.__reduce__()
    kind, (items, more) = reduced
    fields = list(items)
    for name, at in (("st_ino", _INODE), ("st_dev", _DEVICE)):
        fields[at] = given.get(name, fields[at])
    made: os.stat_result = kind(
        tuple(fields), {**more, **{key: given[key] for key in _TIMES if key in given}}
    )
    return made


def take_of_entries(folder: Any, value: Any) -> Any:
    """The same of what `os.scandir` gives, whose entries tell their times themselves, unseen.

    None where a folder cannot be read a second time: an open one would be read to its end.
    """
    frame = callsite.find_user_frame(2)
    names = frozenset() if frame is None else _MARKS.intersection(_list_names(frame.f_code))
    if not names or isinstance(folder, int):
        return None
    try:
        with _scandir("." if folder is None else folder) as entries:
            some = itertools.islice(entries, _MOST_ENTRIES)
            return sorted([os.fspath(each.name), *_read(each, names)] for each in some)
    except OSError:  # it is gone, or a file in it is
        return None


def _read(entry: os.DirEntry[Any], names: frozenset[str]) -> list[int | float]:
    found = entry.stat(follow_symlinks=False)
    return [getattr(found, name) for name in sorted(names)]


def _list_names(code: CodeType) -> Iterator[str]:
    """Those in a function, and in the lambdas and comprehensions that it makes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)
