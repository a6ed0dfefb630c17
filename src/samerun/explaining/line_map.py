"""Where a line of edited code stood before the edit."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path

from samerun.editing.edit import NoEdit
from samerun.editing.user_program import parse_file, read_file
from samerun.runs.notebook import strip_cell
from samerun.runs.source_lines import parse_site


def map_site(site: str, edited: Mapping[str, str], now: Mapping[str, str], folder: Path) -> str:
    """A call site of the files that ran as `edited`, in the code as it is `now`, or else in `folder`.

    Both map the path of a file to its text on disk.
    """
    at = parse_site(site)
    path = "" if at is None else strip_cell(at[0])
    if at is None or path not in edited:
        return site
    try:
        ran = parse_file(path, edited[path])
        file = parse_file(path, now[path]) if path in now else read_file(folder, path)
        return file.site(map_line(ran.line_at(*at), file.text, ran.text))
    except NoEdit:  # the code of now cannot be read
        return site


def map_line(number: int, old: str, new: str) -> int:
    """The number of the line of `old` that line `number` of `new` was; of a new line, where it was put in."""
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    for _, old_first, old_last, new_first, new_last in matcher.get_opcodes():
        if new_first < number <= new_last:
            return min(old_first + number - new_first, max(old_last, old_first + 1))
    return number
