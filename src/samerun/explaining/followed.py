"""What the statement where a value began to differ says of the reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from samerun.comparing.lines.differences import RETURNED, Node
from samerun.comparing.lines.reading import Place
from samerun.editing.edit import NoEdit
from samerun.editing.index import index
from samerun.editing.source_file import get_last_name
from samerun.editing.user_program import read_file
from samerun.runs.difference import Evidence, Strength
from samerun.runs.followed import Value, is_number, is_reordered
from samerun.runs.source_lines import parse_site, read_line
from samerun.sources.base.system_value import World
from samerun.sources.catalogue import find_sources
from samerun.sources.hash_seed import HashSeed
from samerun.sources.source import Kind

_SETS = frozenset(("set", "frozenset"))
_MOST = 3  # statements that are spoken of


class Followed(NamedTuple):
    """What following the values led to."""

    evidence: tuple[Evidence, ...]  # best first
    notes: tuple[str, ...]
    is_plain: bool = False  # each of the statements calls what one source gives, and no other


def explain_origins(origins: Sequence[Node], folder: str) -> Followed:
    """The sources that give what these statements call for; notes where none of the catalogue does of any."""
    evidence: list[Evidence] = []
    notes: dict[str, str] = {}  # by the line: it may have given several values
    plain = bool(origins)
    for node in origins[:_MOST]:
        found = _explain(node, folder)
        evidence += found
        plain = plain and len(found) == 1 and bool(_list_called(node.place))
        if not found:
            said = f"{_describe(node)}, at {node.place.site}"
            notes.setdefault(node.place.site, f"{said}; no source of the catalogue is known to give it")
    return Followed(tuple(evidence), () if evidence else tuple(notes.values()), plain)


def list_sources_of(nodes: Sequence[Node], folder: str) -> tuple[Evidence, ...]:
    """What any of these statements calls for, each source where it is first."""
    first: dict[str, Evidence] = {}
    for node in nodes:
        for item in _explain(node, folder):
            first.setdefault(item.source, item)
    return tuple(first.values())


def _explain(node: Node, folder: str) -> list[Evidence]:
    if node.unseeded:
        text = "it is drawn from here in unequal states, and nothing before this line made them so"
        return [Evidence(id_, Strength.STRONG, text, node.place.site) for id_ in node.unseeded]
    reordered = next((item.name for item in node.made if is_reordered(*item.values)), None)
    if reordered is not None:
        text = f"`{reordered}` holds the same in both runs, and gives it in another order"
        return [Evidence(HashSeed.id, Strength.STRONG, text, node.place.site)]
    for place in (node.place, *node.written_at):
        found = _list_called(place) or _list_read(place.site, folder) or _list_read_within(place.site, folder)
        if found:
            text = _describe(node)
            if place is not node.place:
                text += f" at {node.place.site}, of what this line gave"
            known = find_sources()
            return [
                Evidence(source, Strength.STRONG, text, site, known[source].advise(function))
                for source, site, function in found
            ]
    return []


def _list_called(place: Place) -> list[tuple[str, str, str]]:
    """The sources whose functions a statement calls, or through whose order it goes; with line and function.

    Generators come last: what is drawn in unequal states is known already, so here they were given a seed.
    """
    calls = [*place.calls, *((f"{kind}", place.line) for kind in place.loops if kind in _SETS)]
    return [
        (id_, f"{place.file}:{line}", name)
        for id_, source in sorted(find_sources().items(), key=lambda item: item[1].kind is Kind.RNG)
        for name, line in calls
        if source.gives is not None and source.gives.fullmatch(name)
    ]


def _list_read(site: str, folder: str) -> list[tuple[str, str, str]]:
    """The same by its text alone, for what is no call: an attribute, a variable of the environment."""
    text = read_line(site, folder)
    return [
        (id_, site, "")
        for id_, source in find_sources().items()
        if isinstance(source, World) and source.words.search(text)
    ]


def _list_read_within(site: str, folder: str) -> list[tuple[str, str, str]]:
    """The same of the functions of its file that a line calls: what they read, they may have got in parts."""
    at = parse_site(site)
    try:
        file = None if at is None else read_file(Path(folder), at[0])
    except NoEdit:
        return []
    if at is None or file is None:
        return []
    called = {get_last_name(call) for call in file.calls(at[1])}
    functions = [item for name in called for item in index(file).functions[name]]
    lines = [n for item in functions for n in range(item.lineno, (item.end_lineno or item.lineno) + 1)]
    return next(filter(None, (_list_read(file.site(line), folder) for line in lines)), [])


def _describe(node: Node) -> str:
    if node.branches and not node.made:
        return "the runs go on with other statements from here, though all that this one reads is equal"
    first = node.made[0]
    name = first.name if first.name == RETURNED else f"`{first.name}`"
    shown = all(map(is_number, first.values)) and not node.is_secret
    values = " and ".join(map(_show, first.values)) if shown else ""
    held = f" ({values})" if values else ""
    return f"{name} differs first{held}, though all that the line reads is equal"


def _show(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
