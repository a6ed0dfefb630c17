"""A patch for the user's code: the fewest edits that control the sources found, as a unified diff."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from samerun.editing.diff import carry_text, format_unified
from samerun.editing.edit import Change, Edit, NoEdit, Opening, Unfaithful, Wrap
from samerun.editing.merge_edits import merge_edits
from samerun.editing.replacing import write_anew
from samerun.editing.user_program import Code, encode_text
from samerun.editing.zero_terms import leave_out_zeros
from samerun.explaining.cause import Cause
from samerun.explaining.distinct_seeds import give_distinct_seeds
from samerun.explaining.full_evidence import read_argv, read_whole
from samerun.installed_folders import find_installed_folder
from samerun.runs.difference import Difference
from samerun.runs.source_lines import parse_site
from samerun.sources.catalogue import find_sources
from samerun.sources.code import digests_of
from samerun.sources.edits.each_call import keep_calls_apart
from samerun.sources.edits.outside_values import keep_given_seed
from samerun.sources.edits.ranks import SEEDING, keep_ranks_apart

_GOES_ON = re.compile(r"opt|sched|trainer|accelerator", re.IGNORECASE)
_AGAIN = (
    "a run that goes on from a checkpoint begins with these numbers again: keep the states of the generators "
    "in the checkpoint, and put them back (samerun.state)"
)


@dataclass(frozen=True)
class Patch:
    """Edits of the user's files."""

    diff: str  # unified, applies with `patch -p1` or `git apply` in the working directory; "" for none
    files: Mapping[str, str]  # path relative to the working directory → the whole new content
    cannot: Mapping[str, str]  # source id → why no edit fixes it, and what does
    verified: bool | None = None  # whether `check` of the patched code says same; None: not tried
    runs: tuple[str, ...] = ()  # the runs that verified it
    # The edits that can be made, where they are not enough: no edit fixes the others, or (`verified` is
    # False) runs with them differ later, for a reason that was not found.
    partial: str = ""
    sites: Mapping[str, str] = field(default_factory=dict)  # source id → the line of its one edit
    costs: tuple[str, ...] = ()  # what the user pays for it, beside equal bits
    unfaithful: frozenset[str] = frozenset()  # those of `cannot` whose general advice would do harm as well

    def complete(self, cause: Cause) -> Cause:
        """The cause, with what its edit taught.

        Where it has no line, that of the edit which was seen to fix it; where what is advised in general
        would do harm here, what to do instead.
        """
        if cause.source in self.unfaithful:
            cause = replace(cause, advice=self.cannot[cause.source])
        site = self.sites.get(cause.source) if self.verified else None
        return cause if cause.call_site or site is None else replace(cause, call_site=site)

    @property
    def why_partial(self) -> str:
        """For people: why the edits of `partial` are not enough, and what was tried."""
        if self.verified is None:
            return "not enough by themselves, and not tried"
        pair = f"samerun diff {self.runs[0]} {self.runs[-1]}"
        return (
            f"not enough by themselves: with them, runs differ later, for a reason that was not found: {pair}"
        )

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
            write_anew(place, encode_text(self.files[path]))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "diff": self.diff,
            "cannot": dict(self.cannot),
            "verified": self.verified,
            "runs": list(self.runs),
            "partial": self.partial,
            "costs": list(self.costs),
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
    unfaithful: set[str] = set()
    kept = _kept_by_edit(found, by_edit)
    first: Code | None = None  # that of the first cause with an edit
    first_kept: Code | None = None
    edited: Mapping[str, str] = {}  # the files as the next run had them
    for difference, cause in found:
        code = read_code(difference, folder, edited)
        try:
            edits.setdefault(cause.source, []).extend(make_edits(difference, cause, code))
        except NoEdit as reason:
            cannot.setdefault(cause.source, _explain_outside(cause.call_site, folder) or str(reason))
            if isinstance(reason, Unfaithful) and cannot[cause.source] == str(reason):
                unfaithful.add(cause.source)
            continue
        first = first or code
        if cause.source in kept:
            first_kept = first_kept or code
            before = {source: some for source, some in edits.items() if source in kept}
            edited, _ = _merged_if_possible(first_kept, before)
    if first is None:
        return Patch("", {}, cannot, unfaithful=frozenset(unfaithful))
    files, failed = _merged_if_possible(first, edits)
    for source, why in failed.items():
        cannot.setdefault(source, why)
    diff = "".join(format_unified(first.file(path), text) for path, text in sorted(files.items()))
    have_edits = {source for source, some in edits.items() if some and source not in failed}
    left = {source: why for source, why in cannot.items() if source not in have_edits}
    sites = _locate_edits(first, edits, have_edits)
    costs = _list_costs(edits, have_edits, first)
    return Patch(diff, files, left, sites=sites, costs=costs, unfaithful=frozenset(unfaithful & left.keys()))


def _explain_outside(site: str | None, folder: Path) -> str | None:
    """Why there is no edit of a line of the user's code that is above or beside the working directory."""
    found = parse_site(site)
    if found is None:
        return None
    path = (folder / found[0]).resolve()
    if path.is_relative_to(folder.resolve()) or not path.is_file():
        return None
    if find_installed_folder(str(path)) or path.is_relative_to(Path(os.__file__).parent):
        return None
    return (
        f"{found[0]} is not in the working directory, and a patch changes what is below it: start samerun in "
        "the folder of the project, with the command as it is from there"
    )


def _list_costs(edits: Mapping[str, Sequence[Edit]], sources: Collection[str], code: Code) -> tuple[str, ...]:
    made = [edit for source, some in edits.items() if source in sources for edit in some]
    costs = [edit.cost for edit in made if not isinstance(edit, Opening) and edit.cost]
    seeds = any(isinstance(edit, Opening) and edit.name in SEEDING for edit in made)
    return tuple(dict.fromkeys([*costs, *([_AGAIN] if seeds and _goes_on(code) else [])]))


def _goes_on(code: Code) -> bool:
    """Whether the code puts back the state of an optimizer, say, to go on from a checkpoint."""
    calls = (call for file in code.files for call in file.every(ast.Call))
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in ("load_state_dict", "load_state")
        and _GOES_ON.search(ast.unparse(call.func.value)) is not None
        for call in calls
    )


def _locate_edits(
    code: Code, edits: Mapping[str, Sequence[Edit]], sources: Collection[str]
) -> dict[str, str]:
    """The line of each source's edit, where it is one that changes the code there."""
    found = {}
    for source in sources:
        alone, *more = edits[source]
        if not more and isinstance(alone, (Change, Wrap)):
            file = code.file(alone.path)
            found[source] = file.site(file.line_of(alone.start))
    return found


def _merged_if_possible(
    code: Code, edits: Mapping[str, Sequence[Edit]]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The new text of each file with all edits that can be made, and why those of other sources cannot."""
    failed: dict[str, str] = {}
    try:
        return _merge(code, edits), failed
    except NoEdit:
        for source, some in edits.items():  # those that can be made without the others
            try:
                _merge(code, {source: some})
            except NoEdit as reason:
                failed[source] = str(reason)
    left = {source: some for source, some in edits.items() if source not in failed}
    try:
        return _merge(code, left), failed
    except NoEdit as reason:
        return {}, {**dict.fromkeys(left, str(reason)), **failed}


def _merge(code: Code, edits: Mapping[str, Sequence[Edit]]) -> dict[str, str]:
    """The new text of each file, as on disk. Raises NoEdit."""
    apart = give_distinct_seeds(edits, code)
    texts = merge_edits(code, [edit for some in apart.values() for edit in some])
    files = [(code.file(path), text) for path, text in texts.items()]
    return {file.path: carry_text(file, file.rebuild(text)) for file, text in files}


def make_edits(difference: Difference, cause: Cause, code: Code) -> Sequence[Edit]:
    """The edits for one cause. Raises NoEdit."""
    source = find_sources().get(cause.source)
    if source is None:
        raise NoEdit(cause.advice or "no source of this name is known")
    code = code.join_file(cause.call_site)
    try:
        whole = read_whole(difference)
        edits = keep_calls_apart(source.mend(whole, cause.call_site, code), whole, code)
        return leave_out_zeros(keep_given_seed(keep_ranks_apart(edits, difference, code), code), code)
    except NoEdit as reason:
        raise type(reason)(str(reason)) from None
    except (ValueError, LookupError, AttributeError, TypeError, AssertionError, RecursionError) as error:
        # Code of a form that was not thought of: no patch is better than a wrong one.
        raise NoEdit(f"{cause.advice} (the code could not be edited: {type(error).__name__})") from None


def read_code(difference: Difference, folder: Path, edited: Mapping[str, str] | None = None) -> Code:
    """The files that the run of a difference ran, some of them as `edited`."""
    return Code(folder, read_argv(difference), digests_of(difference.a), edited or {})


def _kept_by_edit(found: Sequence[tuple[Difference, Cause]], by_edit: Collection[str]) -> set[str]:
    """The sources that later runs were without since their code was edited."""
    known = find_sources()
    sources = {cause.source for _, cause in found}
    return {
        source
        for source in sources
        if source in by_edit or (source in known and not known[source].controllable)
    }
