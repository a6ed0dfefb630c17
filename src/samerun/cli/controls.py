"""`--control ID` and `ID=VALUE`: further sources to control."""

from __future__ import annotations

from collections.abc import Sequence

from samerun.errors import UsageError
from samerun.runs.plan import Fill


def choose_sources(words: Sequence[str], option: str = "--control") -> tuple[tuple[str, ...], Fill]:
    """The ids of the sources, and with what unwritten memory is filled. Raises UsageError."""
    from difflib import get_close_matches

    from samerun.sources.catalogue import find_sources
    from samerun.sources.uninitialized_memory import UninitializedMemory

    memory = UninitializedMemory.id
    known = find_sources()
    ids: list[str] = []
    fill: Fill = False
    for word in words:
        id_, equals, value = word.partition("=")
        if id_ not in known:
            near = get_close_matches(id_, known, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(f"{option} {word}: there is no such source; {meant}known: {', '.join(known)}")
        if not known[id_].controllable:
            raise UsageError(f"{option} {word}: it has no control; {known[id_].advice}")
        if equals and (id_, value) != (memory, "nan"):
            more = f"; only {memory}=nan is one" if id_ != memory else "; the only one is nan"
            raise UsageError(f"{option} {word}: {id_} takes no value {value!r}{more}")
        fill = "nan" if equals else fill
        ids.append(id_)
    return tuple(dict.fromkeys(ids)), fill
