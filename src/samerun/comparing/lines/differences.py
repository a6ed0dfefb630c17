"""Walks two runs side by side, call by call, and finds where values of the user's variables differ."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from samerun.comparing.lines.reading import Did, Frame, Place, Process
from samerun.runs.followed import COMPREHENSIONS, Value, is_data
from samerun.runs.secrets_in_text import names_secret

Pair = tuple[Value, Value]
RETURNED = "the value returned"
_SMALL = 1000  # two runs can have a pair of integers below it twice by chance


class Differing(NamedTuple):
    """A name, and what it holds in run A and in run B."""

    name: str
    values: Pair

    @property
    def is_data(self) -> bool:
        """Whether it holds tensors, arrays or a generator."""
        return any(map(is_data, self.values))


@dataclass(eq=False)
class Node:
    """An execution of a statement in which something differs.

    `comes_from` are the nodes that its unequal values come from, by value: none, where all that it reads is
    equal; then a difference begins here.
    """

    place: Place
    time: float  # in run A, seconds
    process: tuple[str, ...] = ()
    read: tuple[Differing, ...] = ()  # what differs already
    made: tuple[Differing, ...] = ()  # what differs after it, and did not before
    unseeded: tuple[str, ...] = ()  # generators that it draws from, and nothing was seen to make unequal
    branches: bool = False  # another statement follows it in the other run
    comes_from: list[tuple[Differing | None, Node]] = field(default_factory=list)
    written_at: tuple[Place, ...] = ()  # where what it reads was written, of what is not known

    @property
    def is_secret(self) -> bool:
        """Whether what it makes is not to be shown, nor handed on."""
        return any(call.name.startswith("secrets.") for call in self.place.calls) or any(
            names_secret(item.name) for item in self.made
        )

    @property
    def begins(self) -> bool:
        """Whether a difference begins here."""
        return not self.comes_from and all(item.name in self.unseeded for item in self.read)

    @property
    def holds_data(self) -> bool:
        """Whether tensors, arrays or generators differ here."""
        return any(item.is_data for item in (*self.read, *self.made))


def find_differences(a: Iterable[Process], b: Iterable[Process]) -> list[Node]:
    """Every such execution, in the order of run A."""
    there = {process.place: process for process in b}
    pairs = [(process, there[process.place]) for process in a if process.place in there]
    walks = []
    for mine, other in pairs:
        walk = _Walk(mine.place)
        for one, two in _match(mine.roots, other.roots):
            walk.follow(one, two)
        walks.append(walk)
    _link_processes(walks)
    return sorted((node for walk in walks for node in walk.nodes), key=lambda node: node.time)


def _match(a: Sequence[Frame], b: Sequence[Frame]) -> Iterator[tuple[Frame, Frame]]:
    """The calls that are the same call: the first of a function to the first of it, and so on."""
    waiting: dict[tuple[str, str], deque[Frame]] = defaultdict(deque)
    for frame in b:
        waiting[frame.file, frame.function].append(frame)
    for frame in a:
        others = waiting[frame.file, frame.function]
        if others:
            yield frame, others.popleft()


def _list_unequal(
    names: Sequence[str], a: Sequence[Value] | None, b: Sequence[Value] | None
) -> list[Differing]:
    return [
        Differing(name, (one, two))
        for name, one, two in zip(names, a or (), b or (), strict=False)
        if one is not None and two is not None and one != two
    ]


class _Walk:
    """One process of both runs."""

    def __init__(self, process: tuple[str, ...]) -> None:
        self._process = process
        self.nodes: list[Node] = []
        self.first: dict[Pair, Node] = {}  # which made such a pair first
        self._latest: dict[Pair, Node] = {}
        self._states: dict[str, Pair] = {}  # of generators, after the last draw seen
        self._lost: set[str] = set()  # those of which there may have been draws that were not seen

    def follow(self, a: Frame, b: Frame, of: Did | None = None, read: Sequence[Differing] = ()) -> list[Node]:
        """Walk one call of both runs, of the statement `of` which `read` that; what its caller gets of it."""
        self._compare_arguments(a, b, of, read)
        steps: list[tuple[Did, Node | None]] = []
        written: dict[str, Place] = {}
        for mine, other in zip_longest(a.did, b.did):
            if mine is None or other is None or mine.place != other.place:
                ended = (a if mine is None else b).ended if mine is None or other is None else True
                return self._branch(steps) if ended and steps else []
            within = read if a.function in COMPREHENSIONS else ()
            steps.append((mine, self._step(mine, other, written, within)))
            written.update(dict.fromkeys(mine.place.writes, mine.place))
        last = steps[-1] if steps else None
        if last is None or last[1] is None or not any(item.name == RETURNED for item in last[1].made):
            return []
        return [last[1]]

    def _compare_arguments(self, a: Frame, b: Frame, of: Did | None, read: Sequence[Differing]) -> None:
        """What a library, or an expression, gave: its statement is where that begins."""
        fresh = [
            item for item in _list_unequal(a.arguments, a.given, b.given) if item.values not in self._latest
        ]
        if not fresh:
            return
        time = a.did[0].time if a.did else 0.0
        line = a.did[0].place.line if a.did else 0
        place = Place(a.file, a.function, line, (), (), (), ()) if of is None else of.place
        makers = self._find_makers(read)
        self._add(Node(place, time, read=tuple(read), made=tuple(fresh), comes_from=makers))

    def _step(
        self, mine: Did, other: Did, written: Mapping[str, Place], within: Sequence[Differing]
    ) -> Node | None:
        """One statement of both runs; `within` differs for the statement whose comprehension it is."""
        place = mine.place
        read = _list_unequal(place.reads, mine.before, other.before)
        began = len(self.nodes)
        left = [
            node for one, two in _match(mine.calls, other.calls) for node in self.follow(one, two, mine, read)
        ]
        inner = self.nodes[began:]
        after = _list_unequal((*place.reads, *place.writes), mine.after, other.after)
        after += _list_unequal((RETURNED,), (mine.returned,), (other.returned,))
        seeds = any("seed" in call.name.lower() for call in place.calls)
        before, now = self._compare_generators(mine, other)
        before = [] if seeds else before
        unseeded = [
            item.name for item in before if item.values not in self._latest and item.name not in self._lost
        ]
        read += before
        after += now
        known = {item.values for item in read}
        made = [item for item in after if item.values not in known]
        seeded_within = len(before) == len(read)  # and all that it leaves is equal
        if not made and not left and seeded_within:
            return None
        comes_from: list[tuple[Differing | None, Node]] = [(None, node) for node in left]
        comes_from += self._find_makers((*read, *made)) or self._find_makers(within)
        if not comes_from and any(item.is_data for item in made):
            comes_from = [(None, node) for node in inner[-1:] if node.holds_data]
        unknown = [
            written[name]
            for name, value in zip(place.reads, mine.before or (), strict=False)
            if value is None and name in written
        ]
        node = Node(
            place,
            mine.time,
            read=tuple(read),
            made=tuple(made),
            unseeded=tuple(unseeded),
            comes_from=comes_from,
            written_at=tuple(unknown),
        )
        self._add(node)
        return node

    def _compare_generators(self, mine: Did, other: Did) -> tuple[list[Differing], list[Differing]]:
        """The generators of which a run draws here and that are unequal: before it, and after it."""
        before: list[Differing] = []
        after: list[Differing] = []
        if mine.drawn is None or other.drawn is None:
            self._lost.update(self._states)
            self._states.clear()
            return before, after
        for id_ in {**mine.drawn, **other.drawn}:
            last = self._states.get(id_, (None, None))
            a, b = mine.drawn.get(id_, (last[0], last[0])), other.drawn.get(id_, (last[1], last[1]))
            self._states[id_] = a[1], b[1]
            before += _list_unequal((id_,), (a[0],), (b[0],))
            after += _list_unequal((id_,), (a[1],), (b[1],))
        return before, after

    def _find_makers(self, items: Iterable[Differing]) -> list[tuple[Differing | None, Node]]:
        return [(item, self._latest[item.values]) for item in items if item.values in self._latest]

    def _branch(self, steps: Sequence[tuple[Did, Node | None]]) -> list[Node]:
        """The last statement that both runs have decided which one follows it."""
        did, node = steps[-1]
        if node is None:
            node = Node(did.place, did.time)
            self._add(node)
        node.branches = True
        return [node]

    def _add(self, node: Node) -> None:
        """Where what it reads was not seen to be made, it is of what differed last, data of data."""
        if node.read and not node.begins and not node.comes_from:
            data = node.holds_data
            before = next((one for one in reversed(self.nodes) if one.holds_data or not data), None)
            if before is not None:
                node.comes_from.append((None, before))
        node.process = self._process
        self.nodes.append(node)
        for item in node.made:
            self._latest[item.values] = node
            self.first.setdefault(item.values, node)


def _link_processes(walks: Sequence[_Walk]) -> None:
    """What begins in a process with values that another one made, comes from there."""
    for walk in walks:
        for node in walk.nodes:
            if not node.begins:
                continue
            for other in walks:
                if other is walk:
                    continue
                node.comes_from += [
                    (item, other.first[item.values])
                    for item in node.made
                    if _is_telling(item.values)
                    and item.values in other.first
                    and other.first[item.values].time < node.time
                ]


def _is_telling(pair: Pair) -> bool:
    return not all(type(value) is int and abs(value) < _SMALL for value in pair)
