"""What another run is given, so that it goes on as run A did where a difference began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from samerun.comparing.lines.differences import RETURNED, Node
from samerun.comparing.lines.reading import Did, Frame, Process
from samerun.runs.followed import Value, is_number
from samerun.runs.plan import Given

_MOST = 2_000  # numbers: they go by way of the environment


def find_given(origins: Sequence[Node], nodes: Sequence[Node], a: Iterable[Process]) -> tuple[Given, ...]:
    """The numbers that run A had where these differences began; () unless each of them is a number.

    Where a function returned it, those of the variable that it was written to.
    """
    processes = {process.place: process for process in a}
    found = []
    for origin in origins:
        given = _find_numbers(origin, nodes, processes)
        if given is None:
            return ()
        found.append(given)
    return tuple(found)


def _find_numbers(
    origin: Node, nodes: Sequence[Node], processes: dict[tuple[str, ...], Process]
) -> Given | None:
    began = {values for _, values in origin.made}
    carried = [node for node in nodes if any(before is origin for _, before in node.comes_from)]
    if any(node.is_secret for node in (origin, *carried)):
        return None
    for node in (origin, *carried):
        for name, values in node.made:
            # What is computed from it is not what began to differ: to give that would prove nothing.
            if name == RETURNED or "." in name or values not in began or not all(map(is_number, values)):
                continue
            if name not in (*node.place.reads, *node.place.writes):  # an argument of a frame that it began
                continue
            numbers = [*_list_numbers(processes[node.process].roots, node, name)]
            if len(numbers) <= _MOST and all(map(is_number, numbers)):
                place = node.place
                return Given(node.process, place.file, place.line, name, tuple(numbers))  # type: ignore[arg-type]
    return None


def _list_numbers(frames: Iterable[Frame], node: Node, name: str) -> Iterator[Value]:
    """What the variable held each time that the statement was done, in order."""
    place = node.place
    at = (*place.reads, *place.writes).index(name)
    done = sorted((did for did in _walk(frames) if did.place == place), key=lambda did: did.time)
    return (None if did.after is None else did.after[at] for did in done)


def _walk(frames: Iterable[Frame]) -> Iterator[Did]:
    waiting = list(frames)
    while waiting:
        frame = waiting.pop()
        for did in frame.did:
            waiting += did.calls
            yield did
