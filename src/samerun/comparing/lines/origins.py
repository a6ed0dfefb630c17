"""From where runs part, back to the statements where what differs there began to differ."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from samerun.comparing.lines.differences import Node
from samerun.runs.difference import Difference
from samerun.runs.source_lines import parse_site

_FLOW = ("flow", "ended")


def find_origins(nodes: Sequence[Node], difference: Difference) -> list[Node]:
    """The statements where what makes the runs part begins to differ, the earliest first; [] if unknown."""
    shown = _find_shown(nodes, difference)
    if shown is None:
        return []
    order = {id(node): at for at, node in enumerate(nodes)}
    found = {id(node): node for node in _walk_back(shown) if node.begins}
    return sorted(found.values(), key=lambda node: order[id(node)])


def find_beginnings(nodes: Sequence[Node]) -> list[Node]:
    """The statements where anything begins to differ, the earliest first, wherever that leads."""
    return [node for node in nodes if node.begins and node.made]


def _find_shown(nodes: Sequence[Node], difference: Difference) -> Node | None:
    """The first execution that shows the difference: at its line, at a branch, or in data."""
    at = [node for node in nodes if _is_at(node, difference.call_site)]
    branches = [node for node in nodes if node.branches]
    data = [node for node in nodes if node.holds_data]
    in_turn: Iterable[list[Node]] = (branches, at, data) if difference.kind in _FLOW else (at, data, branches)
    return next((chosen[0] for chosen in in_turn if chosen), None)


def _is_at(node: Node, site: str | None) -> bool:
    parsed = parse_site(site)
    lines = {node.place.line, *(call.line for call in node.place.calls)}
    return parsed is not None and parsed[0] == node.place.file and parsed[1] in lines


def _walk_back(shown: Node) -> Iterable[Node]:
    """What it comes from, and what that does; where data differs in it, by the data alone."""
    first = [(item, node) for item, node in shown.comes_from if item is None or item.is_data]
    waiting = deque(node for _, node in first or shown.comes_from)
    seen = {id(shown)}
    yield shown
    while waiting:
        node = waiting.popleft()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting.extend(before for _, before in node.comes_from)
