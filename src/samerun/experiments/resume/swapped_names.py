"""Models of one class that a resumed process calls in another order, and so names otherwise."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping

from samerun.runs.details import parse_detail
from samerun.runs.reading import Trace

_FIRST = 2  # steps in which outputs are looked up
_COUNTED = "#"  # between a class and the number of its model, in the order of their first calls


def name_as(whole: Trace, resumed: Trace, step: int) -> Trace:
    """`resumed`, which goes on at `step`, with its models named as those of `whole` that gave the same.

    A target network and the one that it follows, say: which of them is called first depends on where a
    process begins. Models of a class keep their names where outputs do not tell which is which.
    """
    swapped: dict[str, str] = {}
    ours, theirs = _list_outputs(resumed, 0), _list_outputs(whole, step)
    for class_ in {name.partition(_COUNTED)[0] for name in ours}:
        pair = [{name for name in of if name.partition(_COUNTED)[0] == class_} for of in (ours, theirs)]
        swapped |= _match(ours, pair[0], theirs, pair[1])
    return _rename(resumed, {name: new for name, new in swapped.items() if name != new})


def _list_outputs(trace: Trace, step: int) -> dict[str, set[bytes]]:
    """The digests of what each model put out around the first steps from `step` on.

    What it puts out without gradients before a step is written with the number of the one before.
    """
    found: defaultdict[str, set[bytes]] = defaultdict(set)
    near = (trace.steps >= step - 1) & (trace.steps < step + _FIRST)
    for row in trace.rows(near & trace.is_one_of("what", {"output"})):
        if row.name is not None and row.digest is not None:
            found[row.name].add(row.digest)
    return dict(found)


def _match(
    ours: Mapping[str, set[bytes]], names: set[str], theirs: Mapping[str, set[bytes]], known: set[str]
) -> dict[str, str]:
    """The name of each in the other run; {} where that is not known of all. The last one is what is left."""
    every = names | known  # one of them may not have been called so far
    found: dict[str, str] = {}
    for name in names:
        alike = {other: len(theirs[other] & ours[name]) for other in known}
        best = [other for other, count in alike.items() if count == max(alike.values()) > 0]
        if len(best) == 1:  # one that was copied into another puts out the same for a while
            found[name] = best[0]
    unnamed, left = every - found.keys(), every - set(found.values())
    if len(unnamed) == len(left) == 1 and found:
        found[unnamed.pop()] = left.pop()
    return found if set(found.values()) == found.keys() == every else {}


def _rename(trace: Trace, names: Mapping[str, str]) -> Trace:
    if not names:
        return trace
    import pyarrow as pa

    def rename(word: str) -> str:
        kind, colon, name = word.rpartition(":")
        root, dot, rest = name.partition(".")
        return f"{kind}{colon}{names.get(root, root)}{dot}{rest}"

    table = trace.table.unify_dictionaries().combine_chunks()
    for column in ("name", "module"):
        at = table.schema.get_field_index(column)
        (words,) = table.column(column).chunks or [pa.array([], table.schema.field(column).type)]
        renamed = [None if word is None else rename(word) for word in words.dictionary.to_pylist()]
        new = pa.DictionaryArray.from_arrays(words.indices, pa.array(renamed, words.dictionary.type))
        table = table.set_column(at, table.schema.field(column), new)
    details = table.column("detail").to_pylist()
    for row in trace.is_one_of("what", {"names"}).nonzero()[0].tolist():
        parts = parse_detail(details[row], list[str])
        if parts is not None:
            details[row] = json.dumps([rename(part) for part in parts])
    found = Trace(trace.path, trace.meta, table, trace.complete)
    return found.with_columns({"detail": details})
