"""Reads what `recording.lines` wrote: the calls of each process and what each statement left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from samerun.runs.followed import PREFIX, Value
from samerun.runs.untrusted import read_bytes

_MOST_BYTES = 1 << 30


class Called(NamedTuple):
    """A function that a statement calls, `module.name`, and the line of that call."""

    name: str
    line: int


@dataclass(frozen=True)
class Place:
    """One statement of the code: `line` is as it is shown, its values' names in the order of the values."""

    file: str
    function: str
    line: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    calls: tuple[Called, ...]
    loops: tuple[str, ...]  # the types of what it goes through

    @property
    def site(self) -> str:
        """`file.py:line`."""
        return f"{self.file}:{self.line}"


@dataclass
class Did:
    """One execution of a statement, and the calls of the user's functions that came with it."""

    place: Place
    time: float = 0.0  # seconds, on one clock for all processes of a machine
    before: list[Value] | None = None
    after: list[Value] | None = None
    # Generator to its states around it; None where it was not looked at, or not known which thread drew.
    drawn: dict[str, tuple[bytes, bytes]] | None = field(default_factory=dict)
    returned: Value = None
    calls: list[Frame] = field(default_factory=list)


@dataclass
class Frame:
    """One call of a function of the user's."""

    file: str
    function: str
    arguments: tuple[str, ...]
    given: list[Value]
    did: list[Did] = field(default_factory=list)
    ended: bool = False  # it came back; else its process was ended before, or no longer followed
    ahead: list[Frame] = field(default_factory=list)  # calls of the statement that is not complete yet


@dataclass
class Process:
    """What one process did; `place` is its place in the tree of processes."""

    place: tuple[str, ...]
    roots: list[Frame]


def read_processes(run: Path) -> list[Process]:
    """Every process of a run's folder that was followed. Raises OSError or msgspec.DecodeError."""
    files = sorted(run.glob(f"{PREFIX}*"), key=lambda path: path.stat().st_mtime_ns)
    return [_read_process(read_bytes(path, _MOST_BYTES)) for path in files]


def remove_files(run: Path) -> None:
    """Remove what was followed of a run, once it was read: numbers in it may be nobody else's to know."""
    for path in run.glob(f"{PREFIX}*"):
        path.unlink(missing_ok=True)


def _split(data: bytes) -> Iterator[list[Any]]:
    decode = msgspec.msgpack.Decoder().decode
    at = 0
    while at + 4 <= len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        if end > len(data):  # the process was ended while it wrote
            return
        yield decode(data[at + 4 : end])
        at = end


def _close(frames: Iterable[Frame]) -> None:
    """Keep the calls of statements in the midst of which the process was ended."""
    for frame in frames:
        if frame.ahead and frame.did:  # the process was ended in the midst of a statement
            frame.did.append(Did(frame.did[-1].place, calls=frame.ahead))
            frame.ahead = []


def _add_did(
    frame: Frame, place: Place, time: float, before: Any, after: Any, drawn: Any, *returned: Any
) -> None:
    """A statement that was done; what it called stands ahead of it."""
    states = None if drawn is None else {id_: (one[0], one[1]) for id_, one in drawn.items()}
    given = returned[0] if returned else None
    frame.did.append(Did(place, time, before, after, states, given, frame.ahead))
    frame.ahead = []
    frame.ended = bool(returned)


def _read_process(data: bytes) -> Process:
    process = Process((), [])
    codes: dict[int, tuple[str, str, tuple[str, ...]]] = {}
    places: dict[tuple[int, int], Place] = {}
    frames: dict[int, Frame] = {}
    for kind, *event in _split(data):
        if kind == "process":
            process.place = tuple(map(str, event[0]))
        elif kind == "function":
            number, shown, name, arguments = event
            codes[number] = shown, name, tuple(arguments)
        elif kind == "statement":
            code, line, shown_line, reads, writes, calls, loops = event
            if code not in codes:
                continue
            named = tuple(Called(*call) for call in calls)
            file, function, _ = codes[code]
            places[code, line] = Place(
                file, function, shown_line, tuple(reads), tuple(writes), named, tuple(loops)
            )
        elif kind == "call":
            number, above, code, given = event
            if code not in codes:  # of a thread that was ended while it wrote
                continue
            frame = frames[number] = Frame(*codes[code], given)
            (process.roots if above not in frames else frames[above].ahead).append(frame)
        elif kind == "did":
            number, code, line, *did = event
            if number in frames and (code, line) in places:
                _add_did(frames[number], places[code, line], *did)
    _close(frames.values())
    return process
