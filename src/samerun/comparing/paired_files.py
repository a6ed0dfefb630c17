"""Which file of one run is which of another, where their names hold times, ids and new folders."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator

from samerun.runs.written import WrittenFile

_CHANGING = re.compile(r"[0-9a-f]{6,}|\d+")  # of a path: ids and times


def read_form(path: str) -> str:
    """A path without what is another in each run."""
    return _CHANGING.sub("#", path)


def list_pairs(
    one: dict[str, WrittenFile], other: dict[str, WrittenFile]
) -> Iterator[tuple[str, WrittenFile, str, WrittenFile]]:
    """Files of the same path, or of paths that are alike but for times and ids; else, of one line and name.

    The last as where a program works in a folder of `mktemp -d`. In both each is the only one of its run, or
    of paths that are alike the only one that the other run did not write as well: of several trials nothing
    else says which is which.
    """
    alike, own = (_group(files, lambda path, _: read_form(path)) for files in (other, one))
    mine = _group({path: file for path, file in one.items() if path not in other}, read_origin)
    made = _group({path: file for path, file in other.items() if path not in one}, read_origin)
    for path, file in one.items():
        if path in other:
            yield path, file, path, other[path]
            continue
        form = read_form(path)
        found = _find_only(path, own[form], alike.get(form, []))
        if form not in alike and file.site is not None and len(mine[read_origin(path, file)]) == 1:
            found = made.get(read_origin(path, file), [])
        if len(found) == 1:
            yield path, file, *found[0]


def _find_only(
    path: str, mine: list[tuple[str, WrittenFile]], theirs: list[tuple[str, WrittenFile]]
) -> list[tuple[str, WrittenFile]]:
    """Theirs, where that file and this one are what is left of both once those that are equal are gone."""
    if len(mine) == len(theirs) == 1:
        return theirs
    left, right = list(mine), list(theirs)
    for item in mine:
        same = next((other for other in right if _read_content(other[1]) == _read_content(item[1])), None)
        if same is not None:
            left.remove(item)
            right.remove(same)
    return right if len(right) == 1 and [item[0] for item in left] == [path] else []


def _read_content(file: WrittenFile) -> tuple[object, ...]:
    return file.values, file.text, file.digest


def _group(
    files: dict[str, WrittenFile], key: Callable[[str, WrittenFile], Hashable]
) -> dict[Hashable, list[tuple[str, WrittenFile]]]:
    found: dict[Hashable, list[tuple[str, WrittenFile]]] = {}
    for path, file in files.items():
        found.setdefault(key(path, file), []).append((path, file))
    return found


def read_origin(path: str, file: WrittenFile) -> Hashable:
    """The line that opened a file, and the file's name."""
    return file.site, os.path.basename(path)
