"""Edits made one: the new text of each file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from samerun.editing.edit import Change, Edit, NoEdit, Opening, Wrap
from samerun.editing.import_names import spell_name, write_rank
from samerun.editing.insertion_point import Spot, find_beginning, find_spot
from samerun.editing.source_file import File, parse_python
from samerun.editing.user_program import Code

# Lines at the beginning: the environment before what reads it, seeds, then settings, then computing.
_ORDER = (
    "os.",
    "random.",
    "numpy.",
    "torch.manual_seed",
    "torch.cuda",
    "torch.use",
    "torch.backends",
    "torch.",
)


def merge_edits(code: Code, edits: Iterable[Edit]) -> dict[str, str]:
    """The new text of each file that is edited, by its path.

    Raises NoEdit when there is no place for an opening, or the result could not be parsed any more.
    """
    every = list(dict.fromkeys(edits))
    changes: dict[str, list[Change]] = defaultdict(list)
    for place in _select_outermost([item for item in every if not isinstance(item, Opening)]):
        changes[place.path] += _make_changes(place)
    openings: dict[str, dict[int, tuple[Spot, list[Opening]]]] = defaultdict(dict)
    for item in every:
        if isinstance(item, Opening):
            begin = _find_spot(code, item)
            openings[begin.file.path].setdefault(begin.offset, (begin, []))[1].append(item)
            changes[begin.file.path] += []
    texts = {}
    for path, items in changes.items():
        file = code.file(path)
        text = _apply(file, [*items, *_build_lines(file, items, openings[path].values())])
        if parse_python(text) is None:
            raise NoEdit(f"the edit of {path} could not be made without breaking its syntax")
        texts[path] = text
    return {path: text for path, text in texts.items() if text != code.file(path).text}


def _find_spot(code: Code, opening: Opening) -> Spot:
    if opening.site is not None:
        return find_spot(code.at(opening.site)[0])
    return find_beginning(code, guarded="seed" in opening.name)


def _select_outermost(edits: Sequence[Change | Wrap]) -> list[Change | Wrap]:
    """Without what is inside of text that is replaced, and without the second of two that overlap."""
    kept: list[Change | Wrap] = []
    for item in sorted(edits, key=lambda edit: edit.start - edit.end):
        if not any(_overlap(item, other) for other in kept):
            kept.append(item)
    return [item for item in edits if item in kept]


def _overlap(one: Change | Wrap, kept: Change | Wrap) -> bool:
    """Whether an edit cannot be made beside one that is no smaller."""
    if one.path != kept.path:
        return False
    if isinstance(kept, Wrap):
        return one.start < kept.start < one.end or one.start < kept.end < one.end
    if one.start == one.end or kept.start == kept.end:  # insertions may share a place
        return kept.start < one.start < kept.end
    return one.start < kept.end and kept.start < one.end


def _make_changes(edit: Change | Wrap) -> list[Change]:
    if isinstance(edit, Change):
        return [edit]
    before = Change(edit.path, edit.start, edit.start, edit.before, edit.imports)
    return [before, Change(edit.path, edit.end, edit.end, edit.after)]


def _build_lines(
    file: File, changes: Sequence[Change], openings: Collection[tuple[Spot, Sequence[Opening]]]
) -> list[Change]:
    """The whole lines to add: imports, then what runs at the beginning."""
    wanted = [line for change in changes for line in change.imports]
    made = []
    for place, items in openings:
        said = []
        for opening in sorted(items, key=_order):
            text, missing = spell_name(file, opening.name, place.bound)
            wanted += missing
            if opening.rank is not None:
                rank, more = write_rank(file, place.bound, opening.rank)
                wanted += more
                opening = replace(opening, rest=f"({opening.base} + {rank})" if opening.base else f"({rank})")
            said.append(f"{text}{opening.rest}" + (f"  # {opening.comment}" if opening.comment else ""))
        made.append(_build_insertion(place, place.offset, said))
    place = next((place for place, _ in openings), None) or find_spot(file)
    new = _build_insertion(place, place.imports_at, list(dict.fromkeys(wanted)))
    return [change for change in (new, *made) if change.text]


def _build_insertion(place: Spot, offset: int, lines: Sequence[str]) -> Change:
    file = place.file
    starts_line = not file.text[:offset].rpartition("\n")[2].strip() or offset == len(file.text)
    if place.inline and not starts_line:
        text = "".join(f"{line.split('  #')[0]}; " for line in lines)
        return Change(file.path, offset, offset, text)
    indent = place.indent if offset == place.offset else ""
    text = "".join(f"{indent}{line}\n" for line in lines)
    if text and offset == len(file.text) and file.text and not file.text.endswith(("\n", "\r")):
        text = f"\n{text}".removesuffix("\n")
    return Change(file.path, offset, offset, text)


def _order(opening: Opening) -> tuple[int, str]:
    found = [at for at, start in enumerate(_ORDER) if opening.name.startswith(start)]
    return (min(found) if found else len(_ORDER), f"{opening.name}{opening.rest}")


def _apply(file: File, changes: Sequence[Change]) -> str:
    """The text with the changes; of insertions at one place, the first given comes first."""
    text = file.text
    placed = sorted(enumerate(changes), key=lambda item: (item[1].start, item[1].end, item[0]))
    for _, change in reversed(placed):
        text = text[: change.start] + change.text.replace("\n", file.newline) + text[change.end :]
    return text
