"""The order in which a folder's entries come: https://docs.python.org/3/library/os.html#os.listdir."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from xxhash import xxh3_64_intdigest

from samerun import callsite, wrapping
from samerun.answers import Answers, find_site
from samerun.digest import digest_bytes
from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.evidence import rows
from samerun.sources.patching import attribute, name_order, replayed_order
from samerun.sources.source import Journal, Kind, Settings, Source, Undo, Variant
from samerun.wrapping import Around

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

# The value of a note is a sum of these: why it is not right to sort the names as texts, and that the control
# has another order for them than the file system.
GROUPED, NUMBERED, MOVED = 1, 2, 4
_KINDS = {"plain": 0, "numbered": NUMBERED, "grouped": GROUPED}
_ADVICE_FOR_GROUPS = (
    "names = sorted(os.listdir(folder)); random.Random(0).shuffle(names)  # sorted alone is class by class"
)
_MOST_DESCRIBED = 100_000  # names of one folder: what takes a second and serves a hint
_NEAR = 6  # frames between shutil.rmtree and the note of what it listed


class ListingOrder(Source):
    """os.listdir, os.scandir, os.walk, glob and Path.iterdir return entries as the file system keeps them."""

    id = "listing-order"
    gives = re.compile(r"(os|posix)\.(listdir|scandir|walk|fwalk)|glob\.i?glob|.*\.(iterdir|glob|rglob|walk)")
    summary = "folders are listed in the order that the file system keeps, not sorted"
    advice = "sorted(os.listdir(folder)), sorted(glob.glob(pattern)), sorted(path.iterdir())"
    kind = Kind.ORDER
    modes = ("seeded", "strict", "warn")

    def control(self, control: Control) -> Undo | None:
        """Sort what they return by name, and mix the groups that names fall in."""

        def listdir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return name_order.put_in_order(original(*args, **kwargs))

        def scandir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return _OrderedEntries(original(*args, **kwargs), _order_entries)

        return _patch_listing(listdir, scandir)

    def observe(self, journal: Journal) -> Undo | None:
        """Note the order and the names of each listing made by the user's code."""

        def listdir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            names = original(*args, **kwargs)
            if journal.from_user():
                _note(journal, names, _get_path(args, kwargs))
            return names

        def scandir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            entries = original(*args, **kwargs)
            if not journal.from_user():
                return entries
            path = _get_path(args, kwargs)
            return _FollowedEntries(entries, lambda names: _note(journal, names, path))

        return _patch_listing(listdir, scandir)

    def replay(self, answers: Answers) -> Undo | None:
        """The same names in the recorded order; where others are there, they come as they are."""

        def listdir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            names = original(*args, **kwargs)
            site = find_site()
            if site is None or _is_for_removal():
                return names
            return replayed_order.put_in_order(answers, self.id, names, _get_path(args, kwargs), site)

        def scandir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            entries = original(*args, **kwargs)
            site = find_site()
            if site is None or _is_for_removal():
                return entries
            path = _get_path(args, kwargs)

            def keep(names: list[Any]) -> None:
                replayed_order.put_in_order(answers, self.id, names, path, site)

            def order(found: list[Any]) -> list[Any]:
                return replayed_order.put_in_order(
                    answers, self.id, found, path, site, lambda entry: entry.name
                )

            return (
                _OrderedEntries(entries, order) if answers.gives(self.id) else _FollowedEntries(entries, keep)
            )

        return _patch_listing(listdir, scandir)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Turn round what they return to the user's own code."""

        def turn(found: list[Any]) -> list[Any]:
            if len(found) > 1:
                took()
            return found[::-1]

        def listdir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            names = original(*args, **kwargs)
            if not callsite.is_called_directly() or len(names) < 2:
                return names
            took()
            return names[::-1]

        def scandir(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            entries = original(*args, **kwargs)
            return _OrderedEntries(entries, turn) if callsite.is_called_directly() else entries

        return _patch_listing(listdir, scandir)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """The order turned round."""
        return [Variant("turned round", True, likely=0.5)]

    def recognise(self, difference: Difference) -> Evidence | None:
        """The same names in another order, before the difference."""
        for a, b in rows.match_pairs(difference, "listing"):
            if a is not None and b is not None and a.inputs == b.inputs and a.digest != b.digest:
                text = f"{a.detail} was listed with the same names in another order"
                advice = _ADVICE_FOR_GROUPS if int(a.value or 0) & GROUPED else None
                return Evidence(self.id, Strength.SEEN, text, a.call_site, advice)
        return None

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """`sorted(…)` around each listing that came in another order; by a hash where sorting would group."""
        from samerun.sources.edits import listings

        sites: dict[str | None, int] = {site: 0} if site is not None else {}
        for a, b in rows.match_pairs(difference, "listing"):
            if a is not None and b is not None and a.inputs == b.inputs and a.digest != b.digest:
                sites[a.call_site] = sites.get(a.call_site, 0) | int(a.value or 0)
        numbered = NUMBERED & functools.reduce(int.__or__, sites.values(), 0)  # of paired ones
        edits = [
            edit
            for at, kind in sites.items()
            for edit in listings.sort_at(code, at, _find_key(kind | numbered))
        ]
        if not edits:
            raise NoEdit(f"no call at {site} lists a folder: sort the names where they are used")
        return edits


class _Entries:
    """Stands for the iterator of os.scandir: iterates, closes, and is a context manager."""

    def __init__(self, entries: Any) -> None:
        self._entries = entries

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # for isinstance()
        kind: type = self._entries.__class__
        return kind

    def __iter__(self) -> Iterator[os.DirEntry[Any]]:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        entry: os.DirEntry[Any] = next(self._entries)
        return entry

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Free what the file system keeps open."""
        self._entries.close()


class _OrderedEntries(_Entries):
    """The entries in another order; all are read when the first is asked for."""

    _rest: Iterator[os.DirEntry[Any]] | None = None

    def __init__(self, entries: Any, order: Callable[[list[Any]], list[Any]]) -> None:
        super().__init__(entries)
        self._order = order

    def __next__(self) -> os.DirEntry[Any]:
        if self._rest is None:
            self._rest = iter(self._order(list(self._entries)))
        return next(self._rest)

    def close(self) -> None:
        self._rest = iter(())
        super().close()


class _FollowedEntries(_Entries):
    """The entries as they come; `tell` has their names once they have all come."""

    def __init__(self, entries: Any, tell: Callable[[list[Any]], None]) -> None:
        super().__init__(entries)
        self._tell: Callable[[list[Any]], None] | None = tell
        self._names: list[Any] = []

    def __next__(self) -> os.DirEntry[Any]:
        try:
            entry = super().__next__()
        except StopIteration:
            if self._tell is not None:
                self._tell(self._names)
                self._tell = None
            raise
        self._names.append(entry.name)
        return entry


def _order_entries(found: list[Any]) -> list[Any]:
    return name_order.put_in_order(found, lambda entry: entry.name)


def _is_for_removal() -> bool:
    """Whether shutil.rmtree lists: in which order it removes files has no effect."""
    frame = callsite.find_caller(2)
    for _ in range(_NEAR):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == "shutil" and "rmtree" in frame.f_code.co_name:
            return True
        frame = frame.f_back
    return False


def _note(journal: Journal, names: list[Any], path: str) -> None:
    if _is_for_removal():
        return
    journal.note(
        "listing",
        "folder",
        digest=digest_bytes(_join(names)),
        inputs=xxh3_64_intdigest(_join(sorted(names))),
        value=_describe(names),
        detail=path,
        user_only=True,
    )


def _describe(names: list[Any]) -> float | None:
    if len(names) > _MOST_DESCRIBED:
        return None
    moved = MOVED if name_order.put_in_order(names) != names else 0
    return float(_KINDS[name_order.classify(names)] | moved) or None


def _find_key(kind: int) -> Literal["plain", "numbered", "grouped"]:
    return "grouped" if kind & GROUPED else "numbered" if kind & NUMBERED else "plain"


def _join(names: Iterable[Any]) -> bytes:
    return b"\0".join(os.fsencode(name) for name in names)


def _get_path(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    path = args[0] if args else kwargs.get("path")
    if isinstance(path, int):
        return f"descriptor {path}"
    return "." if path is None else os.fsdecode(path)


def _patch_listing(listdir: Around, scandir: Around) -> Undo:
    """Have these make the calls of os.listdir and os.scandir, wherever kept."""
    return attribute.undo_all([*_replace_listing("listdir", listdir), *_replace_listing("scandir", scandir)])


def _replace_listing(name: str, call: Around) -> list[Undo]:
    original = getattr(os, name)
    undos = [attribute.patch_for_others(os, name, call)]
    for module, holder in (("pathlib", "_NormalAccessor"), ("glob", "_StringGlobber")):  # Python 3.10; 3.13
        owner = getattr(sys.modules.get(module), holder, None)
        kept = vars(owner).get(name) if owner is not None else None
        if owner is not None and getattr(kept, "__func__", kept) is original:
            undos.append(wrapping.replace(owner, name, staticmethod(getattr(os, name))))
    return undos
