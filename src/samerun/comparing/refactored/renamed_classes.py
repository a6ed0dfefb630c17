"""Classes of models that other code gives another name: a refactoring moves no bit by that."""

from __future__ import annotations

from samerun.runs.reading import Trace
from samerun.sources.code import Code

_OF_MODELS = frozenset({"input", "output", "parameters", "buffers"})


def find_renamed(a: Trace, b: Trace) -> dict[str, str]:
    """Names of models that only b has, each with the name in a, by the order in which they come first.

    Empty where both ran the same code, and where one of them has more such names than the other.
    """
    if read_code(a) == read_code(b):
        return {}
    ours, theirs = (_list_names(trace) for trace in (a, b))
    alone = [name for name in ours if name not in theirs], [name for name in theirs if name not in ours]
    return dict(zip(alone[1], alone[0], strict=True)) if len(alone[0]) == len(alone[1]) else {}


def read_code(trace: Trace) -> str | None:
    """What a trace says of the files of the user's that ran."""
    rows = trace.rows(trace.is_one_of("what", {"setting"}) & trace.is_one_of("name", {Code.id}))
    return next((row.detail for row in rows), None)


def _list_names(trace: Trace) -> list[str]:
    names = trace.words("name")
    codes = trace.codes("name")[trace.is_one_of("what", _OF_MODELS)]
    return [names[code] for code in dict.fromkeys(codes.tolist()) if code >= 0]
