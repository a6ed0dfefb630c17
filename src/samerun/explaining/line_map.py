"""Where a line of edited code stood before the edit."""

from __future__ import annotations

from difflib import SequenceMatcher


def map_line(number: int, old: str, new: str) -> int:
    """The number of the line of `old` that line `number` of `new` was; of a new line, where it was put in."""
    matcher = SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    for _, old_first, old_last, new_first, new_last in matcher.get_opcodes():
        if new_first < number <= new_last:
            return min(old_first + number - new_first, max(old_last, old_first + 1))
    return number
