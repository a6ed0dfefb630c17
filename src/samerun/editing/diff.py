"""A unified diff that `patch -p1` and `git apply` take."""

from __future__ import annotations

import difflib

from samerun.editing.edit import NoEdit
from samerun.editing.source_file import File

_CONTEXT = 3  # lines around a change


def format_unified(file: File, text: str) -> str:
    """The diff from a file to its new text, both as they are on disk."""
    before, after = _split_lines(file.raw), _split_lines(text)
    out = [f"--- a/{_name(file)}\n", f"+++ b/{_name(file)}\n"]
    matched = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matched.get_grouped_opcodes(_count_context(file, text)):
        first, last = group[0], group[-1]
        out.append(f"@@ -{_format_range(first[1], last[2])} +{_format_range(first[3], last[4])} @@\n")
        for tag, begin, end, start, stop in group:
            if tag == "equal":
                out += [f" {line}" for line in before[begin:end]]
                continue
            out += [f"-{line}" for line in before[begin:end]]
            out += [f"+{line}" for line in after[start:stop]]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in out)


def carry_text(file: File, text: str) -> str:
    """The new text on disk, where a diff can carry the change. Raises NoEdit where it cannot.

    A diff is text in UTF-8: bytes of another encoding can stand in none of its lines.
    """
    if _is_plain(file):
        return text
    if _count_context(file, text) == 0:
        lines = difflib.ndiff(_split_lines(file.raw), _split_lines(text))
        new = [line[2:].strip() for line in lines if line[0] == "+"]
        raise NoEdit(
            f"{file.path} is in {file.encoding}, and lines to change have characters that a patch cannot "
            f"carry: write by hand: {'; '.join(new)}"
        )
    return text


def _count_context(file: File, text: str) -> int:
    """How many lines to show around changes: fewer where those could not be written in the diff."""
    if _is_plain(file):
        return _CONTEXT
    before, after = _split_lines(file.raw), _split_lines(text)
    for context in range(_CONTEXT, 0, -1):
        groups = difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context)
        if all("".join(before[group[0][1] : group[-1][2]]).isascii() for group in groups):
            return context
    return 0


def _is_plain(file: File) -> bool:
    return file.encoding in ("utf-8", "ascii") or file.raw.isascii()


def _split_lines(text: str) -> list[str]:
    """Lines as patch and git see them: ended by a line feed alone."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _format_range(begin: int, end: int) -> str:
    count = end - begin
    return f"{begin + 1}" if count == 1 else f"{begin + 1 if count else begin},{count}"


def _name(file: File) -> str:
    return f"{file.path}\t" if " " in file.path else file.path
