"""Sources named on the command line: `--control ID` and `ID=VALUE`, `--only ID`, `--except ID`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from samerun.errors import UsageError
from samerun.runs.plan import Fill


def choose_sources(words: Sequence[str], option: str = "--control") -> tuple[tuple[str, ...], Fill]:
    """The ids of the sources, and with what unwritten memory is filled. Raises UsageError."""
    from samerun.sources.catalogue import find_sources
    from samerun.sources.uninitialized_memory import UninitializedMemory

    memory = UninitializedMemory.id
    known = find_sources()
    ids: list[str] = []
    fill: Fill = False
    for word in words:
        id_, equals, value = word.partition("=")
        if id_ not in known:
            raise _make_unknown_error(f"{option} {word}", id_, known)
        if not known[id_].controllable:
            raise UsageError(f"{option} {word}: it has no control; {known[id_].advice}")
        if equals and (id_, value) != (memory, "nan"):
            more = f"; only {memory}=nan is one" if id_ != memory else "; the only one is nan"
            raise UsageError(f"{option} {word}: {id_} takes no value {value!r}{more}")
        fill = "nan" if equals else fill
        ids.append(id_)
    return tuple(dict.fromkeys(ids)), fill


def choose_replayed(words: Sequence[str], option: str) -> tuple[str, ...]:
    """The ids of sources that can be replayed. Raises UsageError."""
    from samerun.sources.catalogue import find_sources

    known = find_sources()
    for word in words:
        if word not in known:
            able = [id_ for id_, source in known.items() if source.can_replay()]
            raise _make_unknown_error(f"{option} {word}", word, able)
        if not known[word].can_replay():
            raise UsageError(f"{option} {word}: what it gives is not kept, so it is never replayed")
    return tuple(dict.fromkeys(words))


def _make_unknown_error(asked: str, id_: str, known: Collection[str]) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(id_, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return UsageError(f"{asked}: there is no such source; {meant}known: {', '.join(known)}")
