"""What of programs that do not train has another name in each run: they themselves, and files they make."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import PurePath

from samerun.runs.difference import Row, Side

_PATHS = ("opened", "written", "listing")  # rows whose detail is a path
# The part of a name by which `tempfile`, `mktemp`, a clock or `uuid` make it another one each time.
_NEW = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|(?=[0-9a-f]*\d)[0-9a-f]{12,}|\d[\d_:.-]{5,}"
    r"|(?<![A-Za-z0-9])[A-Za-z0-9]{10}(?=(?:\.\w+)?$)|[a-z0-9_]{8}(?=(?:\.\w+)?$)"
)


def align(a: Side, b: Side) -> Side:
    """Run B, with run A's names for those of its programs, and of files in folders that are new in each run.

    A program is named by its command line, which may hold a number of the run's own. Of several that are
    alike none is renamed, nor is a file that its run did not write: it may be another one that was chosen.
    """
    programs = _match(a.programs, b.programs, lambda name, side: _describe_program(side[name]))
    ours, theirs = _list_written(a.evidence), _list_written(b.evidence)
    paths = _match(ours, theirs, lambda path, _: tuple(_NEW.sub("*", part) for part in PurePath(path).parts))
    if not programs and not paths:
        return b

    def rename(row: Row) -> Row:
        detail = paths.get(row.detail or "", row.detail) if row.what in _PATHS else row.detail
        return replace(row, process=programs.get(row.process, row.process), detail=detail)

    named = {programs.get(name, name): argv for name, argv in b.programs.items()}
    return replace(b, evidence=tuple(map(rename, b.evidence)), programs=named)


def _match(
    ours: Mapping[str, tuple[str, ...]],
    theirs: Mapping[str, tuple[str, ...]],
    describe: Callable[[str, Mapping[str, tuple[str, ...]]], Hashable],
) -> dict[str, str]:
    """Of the names that only one of them has: theirs to ours, where one alone of each is so described."""
    found: dict[Hashable, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for which, (names, others) in enumerate(((ours, theirs), (theirs, ours))):
        for name in names:
            if name not in others:
                found[describe(name, names)][which].append(name)
    return {other[0]: own[0] for own, other in found.values() if len(own) == len(other) == 1}


def _describe_program(argv: tuple[str, ...]) -> tuple[str, ...]:
    """What is started: the script, or the module after -m."""
    words = argv[1:]
    while words and words[0].startswith("-") and words[0] not in ("-m", "-c"):
        words = words[1:]
    return words[:2] if words[:1] in (("-m",), ("-c",)) else words[:1]


def _list_written(evidence: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    return {row.detail: () for row in evidence if row.what == "written" and row.detail}
