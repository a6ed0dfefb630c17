"""A patch for the user's code: the fewest edits that control the sources found, as a unified diff."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samerun.editing.diff import carried, unified
from samerun.editing.edit import Edit, NoEdit
from samerun.editing.merge_edits import merged
from samerun.editing.replacing import write_anew
from samerun.editing.user_program import Code, encoded
from samerun.explaining.cause import Cause
from samerun.explaining.full_evidence import argv_of, whole
from samerun.runs.difference import Difference
from samerun.sources.catalogue import catalogue
from samerun.sources.code import digests_of


@dataclass(frozen=True)
class Patch:
    """Edits of the user's files."""

    diff: str  # unified, applies with `patch -p1` or `git apply` in the working directory; "" for none
    files: Mapping[str, str]  # path relative to the working directory → the whole new content
    cannot: Mapping[str, str]  # source id → why no edit mends it, and what does
    verified: bool | None = None  # whether `check` of the patched code says same; None: not tried
    runs: tuple[str, ...] = ()  # the runs that verified it
    partial: str = ""  # the edits that can be made, where they are not enough: no edit mends the others

    def apply(self, folder: Path, within: Path | None = None) -> None:
        """Write the files below `folder`, each in the encoding that its own first lines name.

        Nothing is written outside of `within` (None: `folder`): raises NoEdit when a link leads out of it.
        Each file is replaced by a new one, so that other names of it (hard links) keep what they had.
        """
        within = (within or folder).resolve()
        places = {path: (folder / path).resolve() for path in self.files}
        for path, place in places.items():
            if not place.is_relative_to(within):
                raise NoEdit(f"{path} is a link to {place}, outside of {within}")
        for path, place in places.items():
            write_anew(place, encoded(self.files[path]))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "diff": self.diff,
            "cannot": dict(self.cannot),
            "verified": self.verified,
            "runs": list(self.runs),
            "partial": self.partial,
        }


def patch(
    found: Sequence[tuple[Difference, Cause]], folder: Path, by_edit: Collection[str] = ()
) -> Patch | None:
    """The patch that controls these causes; None when there are none.

    `folder` is the working directory of the command; the script is the one that the recorded processes ran.
    A later difference comes from runs of code that had the edits of those causes before it which only edits
    control, or which are `by_edit`, by their sources.
    """
    if not found:
        return None
    edits: dict[str, list[Edit]] = {}
    cannot: dict[str, str] = {}
    last: Code | None = None
    for number, (difference, cause) in enumerate(found):
        code = code_of(difference, folder, _edited_for(found[:number], folder, by_edit))
        try:
            edits.setdefault(cause.source, []).extend(edits_for(difference, cause, code))
            last = last or code
        except NoEdit as reason:
            cannot.setdefault(cause.source, str(reason))
    if last is None:
        return Patch("", {}, cannot)
    files: Mapping[str, str] = {}
    try:
        files = _merged(last, edits)
    except NoEdit:
        for source in list(edits):  # those that can be made without the others
            try:
                _merged(last, {source: edits[source]})
            except NoEdit as reason:
                cannot.setdefault(source, str(reason))
                del edits[source]
        try:
            files = _merged(last, edits)
        except NoEdit as reason:
            return Patch("", {}, {**dict.fromkeys(edits, str(reason)), **cannot})
    diff = "".join(unified(last.file(path), text) for path, text in sorted(files.items()))
    mended = {source for source, some in edits.items() if some}
    return Patch(diff, files, {source: why for source, why in cannot.items() if source not in mended})


def _merged(code: Code, edits: Mapping[str, Sequence[Edit]]) -> dict[str, str]:
    """The new text of each file. Raises NoEdit."""
    files = merged(code, [edit for some in edits.values() for edit in some])
    return {path: carried(code.file(path), text) for path, text in files.items()}


def edits_for(difference: Difference, cause: Cause, code: Code) -> Sequence[Edit]:
    """The edits for one cause. Raises NoEdit."""
    source = catalogue().get(cause.source)
    if source is None:
        raise NoEdit(cause.advice or "no source of this name is known")
    try:
        return source.mend(whole(difference), cause.call_site, code)
    except NoEdit as reason:
        raise NoEdit(str(reason)) from None
    except (ValueError, LookupError, AttributeError, TypeError, AssertionError, RecursionError) as error:
        # Code of a form that was not thought of: no patch is better than a wrong one.
        raise NoEdit(f"{cause.advice} (the code could not be edited: {type(error).__name__})") from None


def code_of(difference: Difference, folder: Path, edited: Mapping[str, str] | None = None) -> Code:
    """The files that the run of a difference ran, some of them as `edited`."""
    return Code(folder, argv_of(difference), digests_of(difference.a), edited or {})


def _edited_for(
    before: Sequence[tuple[Difference, Cause]], folder: Path, by_edit: Collection[str]
) -> Mapping[str, str]:
    """The files as later runs had them."""
    known = catalogue()
    only = [
        (difference, cause)
        for difference, cause in before
        if cause.source in by_edit or (cause.source in known and not known[cause.source].controllable)
    ]
    made = patch(only, folder, by_edit) if only else None
    return {} if made is None else made.files
