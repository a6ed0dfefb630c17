"""The places at which a file of code is not as it was locked, and the file with some of them put back."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samerun.experiments.verify.changed_line import describe_first_change
from samerun.runs import untrusted

_MOST_BYTES = 4 << 20
_MOST = 64  # places of all files that are tried one by one; of more, each file is one


@dataclass(frozen=True)
class Place:
    """Lines `now` of a file that were lines `before` when it was locked; None: the whole file."""

    file: str
    before: tuple[int, int] | None = None
    now: tuple[int, int] | None = None


def list_places(folder: Path, locked: Mapping[str, bytes]) -> list[Place]:
    """Of these files, given as they were locked; without those that change no code, where others do."""
    found = {name: _list_of_file(folder, name, before) for name, before in locked.items()}
    places = [place for listed in found.values() for place in listed]
    places = [place for place in places if _changes_code(folder, locked, place)] or places
    return places if len(places) <= _MOST else [Place(name) for name in locked]


def put_back(folder: Path, locked: Mapping[str, bytes], places: Collection[Place]) -> dict[str, bytes]:
    """The files that have some of `places`, with those as they were locked and all else as it is."""
    made = {}
    for name in dict.fromkeys(place.file for place in places):
        mine = [place for place in places if place.file == name]
        lines = locked[name].splitlines(keepends=True)
        if all(place.before is not None for place in mine):
            lines = _replace(_read(folder, name), lines, mine)
        made[name] = b"".join(lines)
    return made


def describe_places(folder: Path, locked: Mapping[str, bytes], places: Sequence[Place]) -> str | None:
    """`train.py:12: lr = 0.1 → lr = 0.2`, for places of one file; None for a file as a whole."""
    if any(place.before is None for place in places):
        return None
    name = places[0].file
    # The lines' numbers are those of the file as it is: the other places stay as they are on both sides.
    before, now = put_back(folder, locked, places)[name], b"".join(_read(folder, name))
    return describe_first_change(name, before.decode("utf-8", "replace"), now.decode("utf-8", "replace"))


def _list_of_file(folder: Path, name: str, locked: bytes) -> list[Place]:
    """The whole file where it is gone."""
    try:
        now = _read(folder, name)
    except OSError:
        return [Place(name)]
    codes = difflib.SequenceMatcher(None, locked.splitlines(keepends=True), now, autojunk=False).get_opcodes()
    return [Place(name, (a, b), (c, d)) for kind, a, b, c, d in codes if kind != "equal"] or [Place(name)]


def _changes_code(folder: Path, locked: Mapping[str, bytes], place: Place) -> bool:
    """Whether the file is other code with it put back: a comment, an empty line, a line's breaks are none."""
    if place.before is None or not place.file.endswith(".py"):
        return True
    try:
        now = b"".join(_read(folder, place.file))
        return _parse(put_back(folder, locked, [place])[place.file]) != _parse(now)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True  # half of a change is no program: it is tried with the other half


def _parse(code: bytes) -> str:
    return ast.dump(ast.parse(code))


def _replace(now: list[bytes], locked: list[bytes], places: Collection[Place]) -> list[bytes]:
    lines = list(now)
    for place in sorted(places, key=lambda place: place.now or (0, 0), reverse=True):
        if place.before is not None and place.now is not None:
            lines[slice(*place.now)] = locked[slice(*place.before)]
    return lines


def _read(folder: Path, name: str) -> list[bytes]:
    return untrusted.read_bytes(folder / name, _MOST_BYTES).splitlines(keepends=True)
